package main

import (
	"errors"
	"strconv"
	"strings"
	"testing"
)

var units = map[string]int{"B": 1, "KB": 1000, "MB": 1000000}

func size(text string) (int, error) {
	words := strings.Fields(text)
	if len(words) != 2 {
		return 0, errors.New("form")
	}
	n, err := strconv.Atoi(words[0])
	unit, known := units[words[1]]
	if err != nil || !known {
		return 0, errors.New("part")
	}
	return n * unit, nil
}

func TestSizes(t *testing.T) {
	for text, expected := range map[string]int{"17 B": 17, " 3  KB ": 3000} {
		if found, err := size(text); err != nil || found != expected {
			t.Errorf("%q: %d, %v", text, found, err)
		}
	}
}

func TestWrongSizes(t *testing.T) {
	for text, expected := range map[string]string{"x MB": "part", "3": "form"} {
		if found, err := size(text); err == nil || err.Error() != expected {
			t.Errorf("%q: %d, %v", text, found, err)
		}
	}
}
