package main

import (
	"fmt"
	"iter"
)

func primes() iter.Seq[int] {
	return func(yield func(int) bool) {
		var known []int
		for n := 2; ; n++ {
			prime := true
			for _, p := range known {
				if p*p > n {
					break
				}
				if n%p == 0 {
					prime = false
					break
				}
			}
			if prime {
				known = append(known, n)
				if !yield(n) {
					return
				}
			}
		}
	}
}

func main() {
	sum, left := 0, 3000
	for p := range primes() {
		sum += p
		if left--; left == 0 {
			break
		}
	}
	fmt.Println(sum)
}
