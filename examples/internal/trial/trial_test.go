package trial

import (
	"strings"
	"testing"
)

type result struct {
	Way  string  `json:"way"`
	Rate float64 `json:"rate"`
	P99  float64 `json:"p99"`
}

func TestMedian(t *testing.T) {
	runs := []result{{"a", 3, 10}, {"a", 1, 30}, {"a", 2, 20}}
	if got := median(runs); got != (result{"a", 2, 20}) {
		t.Error(got)
	}
	if got := median(runs[:2]); got != (result{"a", 3, 30}) || runs[0] != (result{"a", 3, 10}) {
		t.Error(got, runs)
	}
}

func TestWriteCSV(t *testing.T) {
	var b strings.Builder
	if err := WriteCSV(&b, []result{{"a", 0.5, 1e6}, {"b, c", 2, 0}}); err != nil {
		t.Fatal(err)
	}
	if want := "way,rate,p99\na,0.5,1e+06\n\"b, c\",2,0\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
