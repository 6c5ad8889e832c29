package main

import "fmt"

func main() {
	first, second := make(chan int, 64), make(chan int, 64)
	go func() {
		for n := range 200000 {
			first <- n
		}
		close(first)
	}()
	go func() {
		for n := range first {
			second <- n * n % 1009
		}
		close(second)
	}()
	total := 0
	for n := range second {
		total += n
	}
	fmt.Println(total)
}
