package columns

import (
	"bytes"
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"plannerd/internal/exact"
	"plannerd/internal/input/internal/problem"
	"plannerd/planner"
	"plannerd/planner/partitioner"
)

// What adding up rows holds at most for each row, beside the text of its key: for the row, and for
// its amount of each resource.
const (
	sumBytes     = 64
	sumCostBytes = 32
)

// SumBytes is the most that adding up rows holds, beside the texts of their keys.
func SumBytes(s *planner.Statistics) int { return s.Len() * (sumBytes + sumCostBytes*len(s.Costs)) }

// Sum says how rows are added up.
type Sum struct {
	// Affinity says which part of a key is the routed key: rows of one routed key are added up.
	Affinity partitioner.Affinity
	// Gather: the rows of a routed key, all of which name an instance, may be on several. It is where most
	// of its state is, and its shares tell what is where.
	Gather bool
	// Wrong is told of a row whose field does not go together with an earlier row of its routed key, and
	// says whether to stop.
	Wrong func(row, first int, field Field) (stop bool)
}

// DetailGrouped is what is wrong with records where keys of one routed key stay together.
const DetailGrouped = "cannot be used under an affinity: records do not say which keys belong together"

// AboutSum says why a row cannot be added to an earlier one of its routed key; text names instances.
func AboutSum(s *planner.Statistics, row, first int, field Field, text func(id int32) string) string {
	if field&(Cost|Costs) != 0 {
		return "brings the sum of its routed key above 1e290"
	}
	of := s.Instance
	if field == HashInstance {
		of = s.HashInstance
	}
	return fmt.Sprintf("is %s, but %s for %q, which has the same routed key", text(of[row]), text(of[first]),
		s.Keys.At(first))
}

// summing is a sum on its way.
type summing struct {
	Sum
	in, out     *planner.Statistics
	cost, state amounts
	costs       []amounts
	groups      []int32 // by the hashes of routed keys, their row in out and 1; 0: none
	first       []int32 // the row of in that is the first of each of out
}

// Of returns a row for each routed key, in the order of their first rows, and which rows these are. Under an
// affinity, rows without a state count 1 each. The statistics have neither shares nor counts.
func (s Sum) Of(in *planner.Statistics) (out *planner.Statistics, first []int32) {
	n := in.Keys.Len()
	w := summing{Sum: s, in: in, out: new(planner.Statistics), groups: make([]int32, 1<<bits.Len(uint(2*n)))}
	*w.out = *in
	w.out.Keys, w.out.Instance, w.out.HashInstance = planner.NewKeys(0), nil, nil
	w.out.Costs = slices.Clone(in.Costs)
	for _, x := range in.Costs {
		w.costs = append(w.costs, amountsOf(x.Rows))
	}
	w.cost, w.state = amountsOf(in.Cost), amountsOf(in.State)
	if in.State == nil && (s.Gather || !s.Affinity.IsZero()) {
		w.state = amountsOf(slices.Repeat([]float64{1}, n))
	}
	for row := range n {
		if w.add(row) {
			break
		}
	}
	for i := range w.costs {
		w.out.Costs[i].Rows = w.costs[i].out
	}
	if w.out.Cost, w.out.State = w.cost.out, w.state.out; s.Gather {
		w.gather()
	}
	return w.out, w.first
}

// amounts are added up exactly, so that the order of rows makes no difference.
type amounts struct {
	in, out []float64
	scale   exact.Scale
	fixed   []int64 // of out
}

func amountsOf(in []float64) amounts { return amounts{in: in, scale: exact.ScaleOf(in, nil)} }

// add adds the amount of a row, and reports whether the sum is one.
func (a *amounts) add(row, to int) bool {
	switch {
	case a.in == nil:
		return true
	case to == len(a.out):
		a.out, a.fixed = append(a.out, a.in[row]), append(a.fixed, a.scale.Fixed(a.in[row]))
		return true
	}
	a.fixed[to] += a.scale.Fixed(a.in[row])
	a.out[to] = a.scale.Float(a.fixed[to])
	return IsAmount(a.out[to])
}

// add adds a row to that of its routed key.
func (w *summing) add(row int) (stop bool) {
	to := w.group(row)
	if to == len(w.first) {
		w.first = append(w.first, int32(row))
	}
	if cost, state := w.cost.add(row, to), w.state.add(row, to); !cost || !state {
		return w.Wrong(row, int(w.first[to]), Cost)
	}
	for i := range w.costs {
		if !w.costs[i].add(row, to) {
			return w.Wrong(row, int(w.first[to]), Costs)
		}
	}
	same := join(w.in.Instance, &w.out.Instance, row, to)
	return !same && !w.Gather && w.Wrong(row, int(w.first[to]), Instance) ||
		!join(w.in.HashInstance, &w.out.HashInstance, row, to) && w.Wrong(row, int(w.first[to]), HashInstance)
}

// group returns the row of out for the routed key of a row of in.
func (w *summing) group(row int) int {
	key, hash := w.in.Keys.At(row), w.in.Keys.Hash(row)
	if routed := w.Affinity.RoutedKey(key); len(routed) < len(key) {
		key, hash = routed, planner.KeyHash(routed)
	}
	keys, mask := w.out.Keys, uint64(len(w.groups)-1)
	for i := hash; ; i++ {
		at := &w.groups[i&mask]
		if *at == 0 {
			keys.Append(key)
			*at = int32(keys.Len())
			return keys.Len() - 1
		}
		if to := int(*at) - 1; keys.Hash(to) == hash && bytes.Equal(keys.At(to), key) {
			return to
		}
	}
}

// join has the instance of a row stand where its routed key has none so far; false: it has another one.
func join(in []int32, out *[]int32, row, to int) bool {
	switch {
	case in == nil:
	case to == len(*out):
		*out = append(*out, in[row])
	case (*out)[to] == planner.NoInstance:
		(*out)[to] = in[row]
	default:
		return in[row] == planner.NoInstance || in[row] == (*out)[to]
	}
	return true
}

// gather finds the shares of routed keys that are on several instances.
func (w *summing) gather() {
	all := make([]planner.Share, len(w.cost.in)) // Row: the routed key
	order := make([]int32, len(all))
	for row := range all {
		all[row] = planner.Share{Row: int32(w.group(row)), Instance: w.in.Instance[row], Idle: w.cost.in[row] == 0}
		order[row] = int32(row)
	}
	slices.SortFunc(order, func(a, b int32) int { return all[a].Compare(all[b]) })
	for len(order) > 0 {
		of, n := all[order[0]].Row, len(w.out.Shares)
		states := amounts{in: w.state.in, scale: w.state.scale}
		for ; len(order) > 0 && all[order[0]].Row == of; order = order[1:] {
			x, last := all[order[0]], len(w.out.Shares)-1
			if last >= n && w.out.Shares[last].Instance == x.Instance {
				w.out.Shares[last].Idle = w.out.Shares[last].Idle && x.Idle
			} else {
				w.out.Shares = append(w.out.Shares, x)
				last++
			}
			states.add(int(order[0]), last-n)
			w.out.Shares[last].State = states.out[last-n]
		}
		if w.out.Instance[of] = mostStateOf(w.out.Shares[n:]); len(states.out) == 1 { // it is in one place
			w.out.Shares = w.out.Shares[:n]
		}
	}
}

// mostStateOf is the instance that has most of the state, the lowest id among equals.
func mostStateOf(shares []planner.Share) int32 {
	return slices.MaxFunc(shares, func(a, b planner.Share) int {
		return cmp.Or(cmp.Compare(a.State, b.State), cmp.Compare(b.Instance, a.Instance))
	}).Instance
}

// sumTwins adds up the rows of each key in the place of its first row. Those that name an instance
// must name the same one: what others have is counted for that.
func sumTwins(b *Builder, s *planner.Statistics) (*planner.Statistics, []int32) {
	held := SumBytes(s) + b.keys.Bytes()
	if !b.Meter.Take(held) {
		return s, nil
	}
	defer b.Meter.Give(held)
	s.Keys.HashAppended()
	return Sum{Wrong: func(row, first int, field Field) bool {
		if field&(Cost|Costs) != 0 {
			b.Wrong(row, field.String(), "brings the sum of its key above 1e290")
			return b.Full() != nil
		}
		of := map[Field][]int32{Instance: s.Instance, HashInstance: s.HashInstance}[field]
		b.Note(problem.Problem{
			Pointer: b.Pointer(row, field.String()),
			Detail: fmt.Sprintf("is %s, but %s in another row of the key: rows that are added up are of one instance",
				b.Options.Instances.text(of[row]), b.Options.Instances.text(of[first])),
			Location: problem.Location{Row: b.first + row + 1, Column: field.String(), Key: problem.Clip(s.Keys.At(row))},
		})
		return b.Full() != nil
	}}.Of(s)
}
