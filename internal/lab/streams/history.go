package streams

import (
	"bytes"
	_ "embed"
	"io"
)

// history is what record-history writes.
//
//go:embed history.csv.gz
var history []byte

// commits are the recorded commits, each as an interval.
var commits = csvStream("own/history", func() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(history)), nil
})

// History is the history of this repository. Its keys are the paths, an interval is
// so many commits, the cost is how many lines they added and deleted, and the state is
// the size of the file after them, in bytes.
func History(perInterval int) Stream {
	return Stream{Name: commits.Name, Intervals: func(yield func(Interval, error) bool) {
		stretch, number := new(gathered), int64(0)
		for commit, err := range commits.Intervals {
			if err != nil {
				yield(Interval{}, err)
				return
			}
			if at := commit.Number / int64(perInterval); at != number {
				if !yield(Interval{number, &stretch.Statistics}, nil) {
					return
				}
				stretch, number = new(gathered), at
			}
			stretch.add(commit.Statistics)
		}
		yield(Interval{number, &stretch.Statistics}, nil)
	}}
}

// historySequence has a message for every path that a commit changed.
func historySequence() Sequence {
	return sequence(commits.Name, func(message func(key []byte)) error {
		for commit, err := range commits.Intervals {
			if err != nil {
				return err
			}
			for i := range commit.Len() {
				message(commit.Keys.At(i))
			}
		}
		return nil
	})
}
