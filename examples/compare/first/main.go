package main

import (
	"context"
	"fmt"
)

func search(ctx context.Context, n int, found chan<- int) {
	for ; ctx.Err() == nil; n += 8 {
		if n*n%4294967291 == 1397452088 {
			select {
			case found <- n:
			case <-ctx.Done():
			}
			return
		}
	}
}

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	found := make(chan int)
	for start := range 8 {
		go search(ctx, start, found)
	}
	fmt.Println(<-found)
}
