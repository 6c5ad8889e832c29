package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
)

func square(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.URL.Path[1:])
	if err != nil {
		http.Error(w, "no number", 400)
		return
	}
	fmt.Fprint(w, n*n)
}

func get(url string) int {
	response, err := http.Get(url)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	q, err := strconv.Atoi(string(text))
	if err != nil {
		log.Fatal(err)
	}
	return q
}

func main() {
	address := "127.0.0.1:" + os.Args[1]
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	go http.Serve(listener, http.HandlerFunc(square))
	sums, total := make(chan int), 0
	for i := range 10 {
		go func() {
			sum := 0
			for j := range 50 {
				sum += get(fmt.Sprintf("http://%s/%d", address, i*50+j))
			}
			sums <- sum
		}()
	}
	for range 10 {
		total += <-sums
	}
	fmt.Println(total)
}
