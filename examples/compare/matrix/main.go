package main

import "fmt"

const size = 200

func matrix(seed int) (m [size][size]int) {
	for i := range size {
		for j := range size {
			m[i][j] = (i*31 + j*17 + seed) % 101
		}
	}
	return m
}

func main() {
	a, b := matrix(1), matrix(2)
	var c [size][size]int
	for i := range size {
		for k := range size {
			for j := range size {
				c[i][j] += a[i][k] * b[k][j]
			}
		}
	}
	trace := 0
	for i := range size {
		trace += c[i][i]
	}
	fmt.Println(trace)
}
