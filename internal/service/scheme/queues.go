package scheme

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"plannerd/internal/service/figures"
	"plannerd/internal/service/reading"
	"plannerd/planner"
	"plannerd/planner/ring"
	"plannerd/store"
)

// OfQueues are statistics of queue lengths alone: what is known of the keys of an instance is
// how much of their work waits for it.
func OfQueues(lengths []planner.Residual) *planner.Statistics {
	return &planner.Statistics{Keys: planner.NewKeys(0), Partial: true, Residual: lengths}
}

// AdmitQueues refuses queue lengths unless there is one of each instance on the ring.
func (b *Base) AdmitQueues(st *Statistics) error {
	const field = "queues"
	if err := b.Newest.TakesQueues(field); err != nil {
		return err
	}
	on, has := b.Layout.Ids(), map[int32]bool{}
	for i, q := range st.Residual {
		at := fmt.Sprintf("%s/%d/instance", field, i)
		switch {
		case has[q.Instance]:
			return planner.Invalid(at, "stands twice")
		case !on[q.Instance] && !b.Newest.Has(q.Instance):
			return planner.Invalid(at, "is not a known instance")
		}
		has[q.Instance] = true
	}
	var without []int32
	for id := range on {
		if !has[id] {
			without = append(without, id)
		}
	}
	if slices.Sort(without); len(without) > 0 {
		return planner.Invalid(field, "lacks the queue of "+InstancesText(without)+", which the ring has")
	}
	return nil
}

// OfQueues has a plan claim no more than queue lengths tell.
func (o *Result) OfQueues() {
	if o.Balanced = false; !slices.Contains(o.Causes, figures.CauseQueues) {
		o.Causes = append(o.Causes, figures.CauseQueues)
	}
}

// QueueFigures are what the policy of a ring says to the queue lengths that a plan was made of.
type QueueFigures struct {
	ring.Verdict
	Longest *int32  // the instance of the longest queue; nil: several share it
	Skew    float64 // S of the queues
}

// QueuesOf are the queue figures of a plan; nil where it was made of keys, or is listed
// without its instances.
func QueuesOf(p store.Plan) (*QueueFigures, error) {
	if p.Instances == nil || !figures.MadeOfQueues(p) {
		return nil, nil
	}
	under, err := reading.ParametersOf(p)
	if err != nil {
		return nil, err
	}
	var loads []figures.Load
	if err := json.Unmarshal(p.Instances, &loads); err != nil {
		return nil, store.Unreadable("stored loads", err)
	}
	loads = slices.DeleteFunc(loads, func(l figures.Load) bool { return l.Added != nil })
	queues := make([]float64, len(loads))
	for i, l := range loads {
		queues[i] = l.LoadBefore
	}
	out := &QueueFigures{Verdict: ring.Policy{Tau: under.Ring.Tau}.Judge(queues), Skew: ring.Skew(queues)}
	if out.At >= 0 && (out.Max != out.Second || len(queues) == 1) {
		out.Longest = &loads[out.At].ID
	}
	return out, nil
}

// InstancesText names instances, many of them by their number.
func InstancesText(ids []int32) string {
	const most = 20
	text := make([]string, min(len(ids), most))
	for i := range text {
		text[i] = strconv.Itoa(int(ids[i]))
	}
	out := strings.Join(text, ", ")
	if len(ids) == 1 {
		return "instance " + out
	}
	if len(ids) > most {
		out += fmt.Sprintf(" and %d more", len(ids)-most)
	}
	return "instances " + out
}
