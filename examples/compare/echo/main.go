package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"os"
)

const line = "hello, whoever is there\n"

func serve(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer client.Close()
			io.Copy(client, client)
		}()
	}
}

func client(address string, sums chan<- int) {
	server, err := net.Dial("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	sum, buffer := 0, make([]byte, len(line))
	for range 200 {
		if _, err := io.WriteString(server, line); err != nil {
			log.Fatal(err)
		}
		n, err := io.ReadFull(server, buffer)
		if err != nil {
			log.Fatal(err)
		}
		sum += n
	}
	sums <- sum
}

func main() {
	address := "127.0.0.1:" + os.Args[1]
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	go serve(listener)
	sums, total := make(chan int), 0
	for range 50 {
		go client(address, sums)
	}
	for range 50 {
		total += <-sums
	}
	fmt.Println(total)
}
