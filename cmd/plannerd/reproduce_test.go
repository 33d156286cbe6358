package main

import (
	"strings"
	"testing"
)

// TestReproduce: the items of one paper in every form, and names that there are not.
func TestReproduce(t *testing.T) {
	golden(t, "reproduce.txt", succeed(t, "", "reproduce", "shuffler"))
	golden(t, "reproduce.csv", succeed(t, "", "reproduce", "shuffler", "--output", "csv"))
	golden(t, "reproduce.json", succeed(t, "", "reproduce", "--only", "shuffler/examples", "--output", "json"))
	page := succeed(t, "", "reproduce", "--only", "mixed/fig6,theorem2", "--output", "html")
	if n := strings.Count(page, "<article"); n != 2 {
		t.Errorf("%d items on the page", n)
	}
}
