// Package streams has the key streams that tests, tools and the demonstration work
// on: the recorded history of this repository, generated ones of several shapes, and
// the recordings that lie beside the project where there are any.
package streams

import (
	"fmt"
	"iter"

	"plannerd/planner"
)

// Interval is the statistics of one interval.
type Interval struct {
	Number int64
	*planner.Statistics
}

// Stream is a key stream, interval by interval.
type Stream struct {
	// Name is made of words and slashes, such as "own/history".
	Name string
	// Intervals are in order. They may be read again. After an error nothing follows.
	Intervals iter.Seq2[Interval, error]
}

// First returns the first n intervals, or all where there are fewer.
func (s Stream) First(n int) ([]Interval, error) {
	var out []Interval
	for in, err := range s.Intervals {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		if len(out) == n {
			break
		}
		out = append(out, in)
	}
	return out, nil
}

// Sum is the cost of each key over all intervals and the state that was told of it
// last, in the order of the keys' first appearance.
func (s Stream) Sum() (*planner.Statistics, error) {
	sum := new(gathered)
	for in, err := range s.Intervals {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		sum.add(in.Statistics)
	}
	return &sum.Statistics, nil
}

// Sequence is a key stream, message by message.
type Sequence struct {
	// Name is like that of a [Stream].
	Name string
	// Read returns the distinct keys, and for each message the number of its key.
	Read func() (*planner.Keys, []int32, error)
}

// All are the streams of [With] the recordings [Beside] the project.
func All() ([]Stream, error) {
	folder, err := Beside()
	if err != nil {
		return nil, err
	}
	return With(folder)
}

// With are the streams of [Own] and those [Recorded] in a folder, if any.
func With(folder string) ([]Stream, error) {
	recorded, err := Recorded(folder)
	return append(Own(), recorded...), err
}

// Sequences are those of [OwnSequences] and, where there are any, those [Beside] the
// project.
func Sequences() ([]Sequence, error) {
	folder, err := Beside()
	if err != nil {
		return nil, err
	}
	recorded, err := RecordedSequences(folder)
	return append(OwnSequences(), recorded...), err
}

// historyCommits is how many commits an interval of the history has in [Own].
const historyCommits = 12

// Own are the history of this repository and one generated stream of each [Shape].
func Own() []Stream {
	own := []Stream{History(historyCommits)}
	for _, shape := range Shapes {
		own = append(own, Generated(shape))
	}
	return own
}

// OwnSequences are the history of this repository, with a message for every change
// of a path, and one generated sequence of each [Shape].
func OwnSequences() []Sequence {
	own := []Sequence{historySequence()}
	for _, shape := range Shapes {
		own = append(own, shuffled(Generated(shape)))
	}
	return own
}

// sequence is that of the messages that each passes on, by their keys.
func sequence(name string, each func(message func(key []byte)) error) Sequence {
	return Sequence{Name: name, Read: func() (*planner.Keys, []int32, error) {
		var numbers numbering
		var messages []int32
		err := each(func(key []byte) {
			n, _ := numbers.of(key)
			messages = append(messages, n)
		})
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		return numbers.keys, messages, nil
	}}
}

// gathered adds up statistics by key.
type gathered struct {
	numbers numbering
	planner.Statistics
}

func (g *gathered) add(s *planner.Statistics) {
	for i, cost := range s.Cost {
		n, fresh := g.numbers.of(s.Keys.At(i))
		if fresh {
			g.Cost = append(g.Cost, 0)
			if s.State != nil {
				g.State = append(g.State, 0)
			}
		}
		g.Cost[n] += cost
		if s.State != nil {
			g.State[n] = s.State[i]
		}
	}
	g.Keys = g.numbers.keys
}

// numbering numbers keys in the order of their first appearance.
type numbering struct {
	keys    *planner.Keys
	numbers map[string]int32
}

// of returns the number of a key, and whether it is new.
func (n *numbering) of(key []byte) (number int32, fresh bool) {
	if n.keys == nil {
		n.keys, n.numbers = planner.NewKeys(0), map[string]int32{}
	}
	if number, known := n.numbers[string(key)]; known {
		return number, false
	}
	number = int32(n.keys.Len())
	n.keys.Append(key)
	n.numbers[string(key)] = number
	return number, true
}
