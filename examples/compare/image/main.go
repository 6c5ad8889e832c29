package main

import (
	"bufio"
	"fmt"
	"os"
)

func point(re, im int) byte {
	a, b, n := 0, 0, 0
	for (a*a+b*b)>>24 <= 67108864 && n < 255 {
		a, b, n = (a*a-b*b)>>24+re, (2*a*b)>>24+im, n+1
	}
	return byte(n)
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	fmt.Fprint(out, "P5\n240 160\n255\n")
	for y := range 160 {
		for x := range 240 {
			out.WriteByte(point((x-160)*16777216/80, (y-80)*16777216/64))
		}
	}
}
