package main

import (
	"container/heap"
	"fmt"
)

type place struct{ distance, i, j int }
type places []place

func (p places) Len() int           { return len(p) }
func (p places) Less(a, b int) bool { return p[a].distance < p[b].distance }
func (p places) Swap(a, b int)      { p[a], p[b] = p[b], p[a] }
func (p *places) Push(x any)        { *p = append(*p, x.(place)) }
func (p *places) Pop() any {
	last := len(*p) - 1
	x := (*p)[last]
	*p = (*p)[:last]
	return x
}

func cost(i, j int) int { return (i*7919+j*104729+i*j*31)%97 + 1 }

func main() {
	var done [150][150]bool
	open := &places{{0, 0, 0}}
	for {
		at := heap.Pop(open).(place)
		if at.i == 149 && at.j == 149 {
			fmt.Println(at.distance)
			return
		}
		if done[at.i][at.j] {
			continue
		}
		done[at.i][at.j] = true
		for _, step := range [][2]int{{-1, 0}, {1, 0}, {0, -1}, {0, 1}} {
			i, j := at.i+step[0], at.j+step[1]
			if 0 <= i && i < 150 && 0 <= j && j < 150 {
				heap.Push(open, place{at.distance + cost(i, j), i, j})
			}
		}
	}
}
