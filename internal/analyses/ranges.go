package analyses

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"
	"strconv"

	"plannerd/planner"
	"plannerd/planner/ranges"
)

// DefaultFollowers is how many followers a RangesRequest has that does not say.
const DefaultFollowers = 8

// RunRanges divides the key space among followers, or anew after an event.
func RunRanges(ctx context.Context, in *Input, r RangesRequest, progress Progress) (*RangesResult, error) {
	if in == nil {
		return nil, planner.Invalid("keys", "must not be empty")
	}
	j, err := newJob(ctx, in, r.Top, progress)
	if err != nil {
		return nil, err
	}
	a := rangesJob{job: j, r: r}
	if r.KeyEncoding == EncodingBase64 {
		a.keys.base64 = true
	}
	a.out = &RangesResult{KeyEncoding: a.keys.encoding()}
	if err := a.do(a.prepare, a.present, a.divideFirst, a.planAll); err != nil {
		return nil, err
	}
	return a.out, nil
}

// rangesJob is one analysis of key ranges.
type rangesJob struct {
	job
	r         RangesRequest
	followers []ranges.Follower // present and future, with what becomes of them
	owners    ranges.Owners     // before; nil: none yet
	formula   *float64
	order     []int32 // see byKey
	out       *RangesResult
}

// prepare fills in defaults, and finds out what is to happen.
func (a *rangesJob) prepare() error {
	r := &a.r
	if r.Followers == nil {
		r.Followers = Count[RangesFollower](DefaultFollowers)
	}
	if r.ThetaMax == nil {
		r.ThetaMax = new(DefaultThetaMax)
	}
	if r.Methods == nil {
		r.Methods = []ranges.Method{ranges.MinMovement, ranges.Quantile}
	}
	switch {
	case len(r.Followers) == 0 || len(r.Followers) > MaxNodes:
		return planner.Invalid("followers", "must be from 1 to "+strconv.Itoa(MaxNodes))
	case r.KeyEncoding != "" && r.KeyEncoding != EncodingBase64:
		return planner.Invalid("key_encoding", "must be base64, or left out")
	case len(r.Methods) > 2:
		return planner.Invalid("methods", "must be two at most")
	case slices.Contains(r.Methods, ""):
		return planner.Invalid("methods", "must be min_movement or quantile")
	}
	for _, f := range r.Followers {
		a.followers = append(a.followers, ranges.Follower(f))
	}
	if err := a.decodeOwners(); err != nil {
		return err
	}
	return a.happen()
}

// decodeOwners reads the posted division.
func (a *rangesJob) decodeOwners() error {
	for i, o := range a.r.Owners {
		low := []byte(o.Low)
		if a.r.KeyEncoding == EncodingBase64 {
			var err error
			if low, err = base64.StdEncoding.Strict().DecodeString(o.Low); err != nil {
				return planner.Invalid("owners/"+strconv.Itoa(i)+"/low", "must be base64 (standard alphabet, padded)")
			}
		}
		if len(low) > planner.MaxKeyBytes {
			return planner.Invalid("owners/"+strconv.Itoa(i)+"/low",
				"must have at most "+strconv.Itoa(planner.MaxKeyBytes)+" bytes")
		}
		a.owners = append(a.owners, ranges.Owner{Low: low, Follower: o.Follower})
	}
	return nil
}

// happen applies the event to the followers.
func (a *rangesJob) happen() error {
	r := &a.r
	given := slices.ContainsFunc(a.followers, func(f ranges.Follower) bool { return f.Status != ranges.Live })
	switch {
	case given && r.Event != "":
		return planner.Invalid("event", "must be left out when followers have a status")
	case r.Event == "" && !given && a.owners != nil:
		r.Event = EventDrift
	case r.Event == "" && !given:
		r.Event = EventCreate
	}
	switch {
	case !slices.Contains([]RangesEvent{"", EventCreate, EventJoin, EventLeave, EventCrash, EventDrift}, r.Event):
		return planner.Invalid("event", "must be create, join, leave, crash or drift")
	case r.Event == EventCreate && a.owners != nil:
		return planner.Invalid("owners", "cannot be there yet on create")
	case r.Event == EventDrift && a.owners == nil:
		return planner.Invalid("owners", "are needed by drift: they were made for other keys")
	case r.Position != nil && r.Event != EventJoin:
		return planner.Invalid("position", "belongs to event join")
	case r.EventFollowers != nil && r.Event != EventLeave && r.Event != EventCrash:
		return planner.Invalid("event_followers", "belong to event leave and crash")
	}
	a.out.Event = r.Event
	switch r.Event {
	case EventJoin:
		return a.join()
	case EventLeave:
		return a.leave(ranges.Left)
	case EventCrash:
		return a.leave(ranges.Crashed)
	}
	return nil
}

// join adds a follower.
func (a *rangesJob) join() error {
	n := len(a.followers)
	at := n
	if a.r.Position != nil {
		at = *a.r.Position
	}
	if at < 0 || at > n {
		return planner.Invalid("position", "must be from 0 to "+strconv.Itoa(n))
	}
	newest := slices.MaxFunc(a.followers, func(x, y ranges.Follower) int { return cmp.Compare(x.ID, y.ID) })
	if newest.ID == 1<<31-1 {
		return planner.Invalid("followers", "leave no id for another one")
	}
	if a.simple() {
		a.formula = new(ranges.JoinShare(at, n-at))
	}
	a.followers = slices.Insert(a.followers, at, ranges.Follower{ID: newest.ID + 1, Status: ranges.Joined})
	return nil
}

// leave marks those that go.
func (a *rangesJob) leave(status ranges.Status) error {
	n := len(a.followers)
	going := a.r.EventFollowers
	if going == nil {
		going = []int32{a.followers[n-1].ID}
	}
	for i, id := range going {
		at := slices.IndexFunc(a.followers, func(f ranges.Follower) bool { return f.ID == id })
		if at < 0 || a.followers[at].Status != ranges.Live {
			return planner.Invalid("event_followers/"+strconv.Itoa(i), "must be one of the followers, once")
		}
		if a.simple() && len(going) == 1 && n > 1 {
			a.formula = new(ranges.LeaveShare(at, n-1-at))
		}
		a.followers[at].Status = status
	}
	return nil
}

// simple tells whether the proposal's formulas are about this: a division by quantiles
// among followers of equal capacity, a new one included.
func (a *rangesJob) simple() bool {
	capacity := cmp.Or(a.followers[0].Capacity, 1)
	for _, f := range a.followers {
		if cmp.Or(f.Capacity, 1) != capacity {
			return false
		}
	}
	return a.owners == nil && (a.r.Event != EventJoin || capacity == 1)
}

// present tells what the input is.
func (a *rangesJob) present() error {
	in := a.input
	a.out.Keys, a.out.Cost, a.out.State = int64(in.Len()), total(in.Cost, 0), total(in.State, in.Len())
	return nil
}

// divideFirst makes the present division where none was posted: by quantiles.
func (a *rangesJob) divideFirst() error {
	if a.owners != nil || a.r.Event == EventCreate {
		return nil
	}
	var there []ranges.Follower
	for _, f := range a.followers {
		if f.Status != ranges.Joined {
			f.Status = ranges.Live
			there = append(there, f)
		}
	}
	if len(there) == 0 {
		return nil
	}
	d, err := ranges.DivideKeys(a.input.statistics(), nil, there, ranges.Options{Method: ranges.Quantile, Stop: a.stop})
	if err != nil {
		return err
	}
	a.owners = d.After
	return nil
}

// planAll plans by each method.
func (a *rangesJob) planAll() error {
	for i, method := range a.r.Methods {
		a.tell("plan")(int64(i), int64(len(a.r.Methods)))
		d, err := ranges.DivideKeys(a.input.statistics(), a.owners, a.followers, ranges.Options{Method: method,
			ThetaMax: *a.r.ThetaMax, MaxIntervals: a.r.MaxIntervals, Stop: a.stop})
		if err != nil {
			return a.failure(err, map[string]string{"method": "methods/" + strconv.Itoa(i)})
		}
		a.out.Plans = append(a.out.Plans, a.planOf(d))
	}
	return nil
}
