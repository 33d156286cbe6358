package figures

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json"

	"plannerd/store"
)

// UnfilledInstance is an instance that a plan leaves below its least load.
type UnfilledInstance struct {
	Instance int32 `json:"instance"`
	Shortage
}

// UnfilledOf lists the instances that a plan leaves below their least load, ascending; nil
// where no load has a lower bound.
func UnfilledOf(f store.Figures) ([]UnfilledInstance, error) {
	loads, err := LoadsWith(f, "least_load")
	if loads == nil || err != nil {
		return nil, err
	}
	list := []UnfilledInstance{}
	for _, l := range loads {
		if l.Unfilled != nil {
			list = append(list, UnfilledInstance{l.ID, *l.Unfilled})
		}
	}
	return list, nil
}

// LoadsWith reads the loads of a plan; nil where none has that member.
func LoadsWith(f store.Figures, member string) (loads []Load, err error) {
	if !bytes.Contains(f.Instances, []byte(`"`+member+`"`)) {
		return nil, nil
	}
	err = json.Unmarshal(f.Instances, &loads)
	return loads, store.Unreadable("stored loads", err)
}

// Undo is which version of the table a plan brings back.
type Undo struct {
	ToVersion int64 `json:"to_version"`
	// LeftKeys is the number of keys that it cannot bring back: they stay as they are routed.
	LeftKeys int64 `json:"left_keys"`
}

// CutShort reports whether some batches of a plan are in force, and others are not.
func CutShort(p store.Plan) bool { return p.BatchesDone > 0 && p.BatchesDone < p.BatchCount }

// FilledBy lists the instances that a stored plan was to fill.
func FilledBy(p store.Plan) (ids []int32, err error) {
	loads, err := LoadsWith(p.Figures, "filling")
	for _, l := range loads {
		if l.Filling != nil {
			ids = append(ids, l.ID)
		}
	}
	return ids, err
}

// MadeOfQueues reports whether a plan was made of queue lengths alone.
func MadeOfQueues(p store.Plan) bool { return slices.Contains(p.Causes, string(CauseQueues)) }

// NamedKeys are the keys that the figures of a plan name.
type NamedKeys struct {
	Hot   []HotKey
	Split []SplitKey
}

// NamedKeysOf reads them.
func NamedKeysOf(f store.Figures) (out NamedKeys, err error) {
	for _, list := range []struct {
		text []byte
		into any
	}{{f.HotKeys, &out.Hot}, {f.Splits, &out.Split}} {
		if list.text != nil && err == nil {
			err = store.Unreadable("the keys that a plan names", json.Unmarshal(list.text, list.into))
		}
	}
	return out, err
}
