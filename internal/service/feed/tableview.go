package feed

import (
	"sync"
	"time"

	"plannerd/internal/operator"
	"plannerd/internal/parameters"
	"plannerd/internal/service/listing"
	"plannerd/store"
)

// NotAsked stands for a version that a query does not name.
const NotAsked int64 = -1

// OriginDigits is how long a [store.Origin] is as a string.
const OriginDigits = 12

// TableQuery is what is asked of a committed table. Version names the version that is
// wanted, Since the one that is there already; either may be [NotAsked].
type TableQuery struct {
	Operator       string
	Version, Since int64
	// Origin is that of the version that is there already; "": it is not known. Where another
	// origin made the version of that number here, the whole table is told.
	Origin string `json:"origin"`
	// NextPlan: it is asked for the plan that waits to be started, too.
	NextPlan bool `json:"next_plan"`
}

// means reports whether the version that is there already has that origin, as far as is known.
func (q TableQuery) means(o store.Origin) bool { return q.Origin == "" || q.Origin == o.String() }

// TableState is what tells whether a committed table is another one.
type TableState struct {
	Version int64
	Origin  string // as [store.Origin] writes it
	// Pending is the plan that is being carried out; "": none. Phase is its status, and
	// ExecutorEpoch that of who does it.
	Pending       string
	Phase         store.Status
	ExecutorEpoch int64
	// Next is the plan that waits to be started; "": there is none, or the query does not ask for it.
	Next string
	// StartsAt is from when on a plan that waits may be started, which is not Next before; the zero
	// time: there is none, or now.
	StartsAt time.Time
}

func stateOf(op store.Operator, next bool) (TableState, error) {
	s := TableState{Version: op.TableVersion, Origin: op.TableOrigin.String()}
	if op.CurrentStatus.InFlight() {
		s.Pending, s.Phase, s.ExecutorEpoch = op.CurrentPlan, op.CurrentStatus, op.ExecutorEpoch
	}
	if next && op.CurrentStatus == store.StatusApproved && !op.LimitsChanged {
		var err error
		if s.StartsAt, err = operator.StartsAt(op, op.ReadAt); err != nil {
			return s, err
		}
		if s.StartsAt.IsZero() {
			s.Next = op.CurrentPlan
		}
	}
	return s, nil
}

// TableView is what there is to say about a committed table.
type TableView struct {
	TableState
	Scheme        operator.SchemeName
	ConfigVersion int64
	// Full: Parts are the whole table. Else they are what changed since the version that
	// was asked for.
	Full  bool
	Parts []listing.Part
	// Of the whole table:
	Instances []operator.Instance
	Hash      *operator.Hash       // nil where there is no routing table
	Placement *operator.Placement  // by the ids of instances; nil: there are no rules
	Choices   int                  // of keys that Parts do not list; 0: they have one instance
	Serves    operator.RangesPhase // "": there are no ranges
	// Routing is how routers choose among the parts of split keys.
	Routing parameters.Routing
	// NextPlan is what the plan that is being carried out will make of it; nil: none is.
	NextPlan *PendingTable
	// Base64: some key is not valid UTF-8.
	Base64 bool

	mu    sync.Mutex
	texts map[bool][]byte
}

// Text is the view as encode writes it, for keys in base64 or not. Those who share the
// view share the text, which must not be changed.
func (v *TableView) Text(base64 bool, encode func() ([]byte, error)) (text []byte, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if known := v.texts[base64]; known != nil {
		return known, nil
	}
	if text, err = encode(); err != nil {
		return nil, err
	}
	if v.texts == nil {
		v.texts = map[bool][]byte{}
	}
	v.texts[base64] = text
	return text, nil
}

// PendingTable is what a plan that is being carried out will make of a table.
type PendingTable struct {
	Plan      store.Plan
	Hash      *operator.Hash // under the plan's configuration; nil: there is none
	Placement *operator.Placement
	Routing   parameters.Routing
	Instances []operator.Instance
	Choices   int // as that of the view
	Parts     []listing.Part
}
