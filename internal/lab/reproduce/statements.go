package reproduce

import (
	_ "embed"
	"fmt"
	"strings"
)

// Statement is something that a paper says, and what there is of it.
type Statement struct {
	Document Document // empty: of all
	Place    string
	Text     string
	// Item measures it. Where it is empty, Reason says where else it is, or why it is not.
	Item, Reason string
}

//go:embed statements.tsv
var statementsText string

// Statements returns what the papers say, statement by statement, in their order. A figure
// of several parts names the item of its first.
func Statements() (all []Statement, err error) {
	for n, line := range strings.Split(strings.TrimSpace(statementsText), "\n") {
		fields := strings.Split(line, "\t")
		if len(fields) != 4 {
			return nil, fmt.Errorf("statement %d has %d columns", n+1, len(fields))
		}
		s := Statement{Document: Document(fields[0]), Place: fields[1], Text: fields[2]}
		if s.Document == "all" {
			s.Document = ""
		}
		kind, what, _ := strings.Cut(fields[3], " ")
		switch kind {
		case "item":
			s.Item = what
		case "reason":
			s.Reason = what
		default:
			return nil, fmt.Errorf("statement %d has neither an item nor a reason", n+1)
		}
		all = append(all, s)
	}
	return all, nil
}
