package handoff

import (
	"errors"
	"slices"

	"plannerd/sdk/go/route"
)

// ErrNothingPending is returned where a pending route is asked for, and there is none.
var ErrNothingPending = errors.New("handoff: the table has nothing pending")

// Routes is [Table] by a table of package route. Keys may be split there: state on an
// instance to which its key goes no more belongs to the key's heaviest part.
type Routes struct{ *route.Table }

// Route implements [Table]. Each call takes the next turn of a split key.
func (r Routes) Route(key []byte) (to int32, moves bool, err error) {
	d, err := r.Lookup(key)
	if err != nil {
		return 0, false, err
	}
	return d.Next(), d.Paused, nil
}

// Pending implements [Table].
func (r Routes) Pending(key []byte) (int32, error) {
	d, err := r.then(key)
	if err != nil {
		return 0, err
	}
	return d.Next(), nil
}

// Goal implements [Table].
func (r Routes) Goal(key []byte, at int32) (int32, error) {
	d, err := r.then(key)
	if err != nil {
		return 0, err
	}
	if slices.ContainsFunc(d.Parts(), func(p route.Part) bool { return p.Instance == at }) {
		return at, nil
	}
	return d.Instance, nil
}

func (r Routes) then(key []byte) (route.Destination, error) {
	next := r.Table.Pending()
	if next == nil {
		return route.Destination{}, ErrNothingPending
	}
	return next.Lookup(key)
}
