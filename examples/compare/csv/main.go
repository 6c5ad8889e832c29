package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"strconv"
)

func main() {
	file, err := os.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	groups, rows := map[string]int{}, csv.NewReader(file)
	for {
		row, err := rows.Read()
		if err == io.EOF {
			break
		} else if err != nil {
			panic(err)
		}
		number, err := strconv.Atoi(row[2])
		if err != nil {
			panic(err)
		}
		groups[row[1]] += number
	}
	most := 0
	for _, sum := range groups {
		most = max(most, sum)
	}
	fmt.Printf("%d groups, at most %d\n", len(groups), most)
}
