package planning

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
)

// UnfilledInstance is an instance that a plan leaves below its least load.
type UnfilledInstance struct {
	Instance int32 `json:"instance"`
	Shortage
}

// UnfilledOf lists the instances that a plan leaves below their least load, ascending; nil
// where no load has a lower bound.
func UnfilledOf(f Figures) ([]UnfilledInstance, error) {
	if !bytes.Contains(f.Instances, []byte(`"least_load"`)) {
		return nil, nil
	}
	var loads []Load
	if err := json.Unmarshal(f.Instances, &loads); err != nil {
		return nil, fmt.Errorf("reading stored loads: %w", err)
	}
	list := []UnfilledInstance{}
	for _, l := range loads {
		if l.Unfilled != nil {
			list = append(list, UnfilledInstance{l.ID, *l.Unfilled})
		}
	}
	return list, nil
}
