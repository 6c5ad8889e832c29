package main

import "fmt"

type request struct {
	key, value int
	answer     chan int
}

func server(requests <-chan request) {
	table := map[int]int{}
	for r := range requests {
		if r.answer == nil {
			table[r.key] = r.value
		} else {
			r.answer <- table[r.key]
		}
	}
}

func client(n int, requests chan<- request, sums chan<- int) {
	sum, answer := 0, make(chan int)
	for i := range 100 {
		requests <- request{key: n*100 + i, value: n}
		requests <- request{key: n*100 + i, answer: answer}
		sum += <-answer
	}
	sums <- sum
}

func main() {
	requests, sums := make(chan request), make(chan int)
	go server(requests)
	for n := range 1000 {
		go client(n+1, requests, sums)
	}
	total := 0
	for range 1000 {
		total += <-sums
	}
	fmt.Println(total)
}
