package milp

import (
	"bytes"
	"strconv"
)

// text is the formulation in the LP format. Numbers are exact.
func (f *formulation) text() []byte {
	var l lpText
	l.print("Minimize\nobj:")
	terms := make([]term, 0, len(f.variables))
	for v, x := range f.variables {
		terms = append(terms, term{v, f.weight(f.classes[x.class]) * f.weights})
	}
	l.terms(terms)
	l.print("\nSubject To\n")
	for n, r := range f.rows {
		l.print("r", strconv.Itoa(n), ":")
		l.terms(r.terms)
		sign := " <= "
		if r.exact {
			sign = " = "
		}
		l.print(sign, number(r.limit), "\n")
	}
	l.print("Bounds\n")
	for v, x := range f.variables {
		l.print("0 <= ", name(v), " <= ", strconv.FormatInt(f.classes[x.class].units, 10), "\n")
	}
	l.print("Generals\n")
	for v, x := range f.variables {
		if !x.continuous {
			l.print(name(v), "\n")
		}
	}
	l.print("End\n")
	return l.Bytes()
}

type lpText struct{ bytes.Buffer }

func (l *lpText) print(words ...string) {
	for _, w := range words {
		l.WriteString(w)
	}
}

func (l *lpText) terms(terms []term) {
	for i, t := range terms {
		if i%8 == 7 {
			l.print("\n") // the solver reads lines of limited length
		}
		sign, c := " + ", t.coefficient
		if c < 0 {
			sign, c = " - ", -c
		}
		l.print(sign, number(c), " ", name(t.variable))
	}
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

func name(v int) string { return "y" + strconv.Itoa(v) }
