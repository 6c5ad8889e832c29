package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	var items []struct {
		Id int
		Ok bool
	}
	if err := json.Unmarshal(text, &items); err != nil {
		panic(err)
	}
	sum := 0
	for _, item := range items {
		if item.Ok {
			sum += item.Id
		}
	}
	fmt.Println(sum)
}
