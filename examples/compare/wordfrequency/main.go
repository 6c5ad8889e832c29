package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
)

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	counts := map[string]int{}
	for _, word := range strings.Fields(string(text)) {
		counts[word]++
	}
	words := make([]string, 0, len(counts))
	for word := range counts {
		words = append(words, word)
	}
	sort.Slice(words, func(i, j int) bool {
		a, b := words[i], words[j]
		return counts[a] > counts[b] || counts[a] == counts[b] && a < b
	})
	for _, word := range words[:min(10, len(words))] {
		fmt.Printf("%8d %s\n", counts[word], word)
	}
}
