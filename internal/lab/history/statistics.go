package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"

	"plannerd/planner"
)

// keyCount is how many keys an operator has: few, so that a table is a few bytes
// of a model's state.
const keyCount = 24

// absent is the chance of a key to have no row in an interval.
const absent = 0.15

// statistics is what one client posts for an interval, perhaps several times. No
// two of an operator have the same rows.
type statistics struct {
	epoch, interval int64
	version         *int64 // the table version that it says it is of
	hash            string // of the rows, as the service computes it
	text            []byte
}

func keyName(i int) string { return fmt.Sprintf("key-%02d", i) }

// keyNumber is the inverse of keyName; ok: there is such a key.
func keyNumber(name string) (i int, ok bool) {
	if len(name) != len("key-00") {
		return 0, false
	}
	i, err := strconv.Atoi(name[len("key-"):])
	return i, err == nil && i >= 0 && i < keyCount && name == keyName(i)
}

// newStatistics draws the rows.
func newStatistics(r *rand.Rand, epoch, interval int64, version *int64) (*statistics, error) {
	type row struct {
		Key   string  `json:"key"`
		Cost  float64 `json:"cost"`
		State float64 `json:"state"`
	}
	var rows []row
	decoded := planner.Statistics{Keys: planner.NewKeys(keyCount)}
	for i := range keyCount {
		if r.Float64() < absent {
			continue
		}
		next := row{keyName(i), float64(1 + r.IntN(1000)), float64(1 + r.IntN(1000))}
		if r.IntN(8) == 0 {
			next.Cost *= 8
		}
		rows = append(rows, next)
		decoded.Keys.Append([]byte(next.Key))
		decoded.Cost, decoded.State = append(decoded.Cost, next.Cost), append(decoded.State, next.State)
	}
	text, err := json.Marshal(struct {
		Epoch    int64  `json:"epoch"`
		Interval int64  `json:"interval"`
		Version  *int64 `json:"table_version,omitempty"`
		Keys     []row  `json:"keys"`
	}{epoch, interval, version, rows})
	sum := decoded.Fingerprint()
	return &statistics{epoch, interval, version, hex.EncodeToString(sum[:]), text}, err
}

// String describes the statistics.
func (b *statistics) String() string {
	text := fmt.Sprintf("interval %d of epoch %d, input %s", b.interval, b.epoch, short(b.hash))
	if b.version != nil {
		text += fmt.Sprintf(" on %d", *b.version)
	}
	return text
}

// configuration is what a client configures. No two of an operator are equal.
type configuration struct {
	Instances int      `json:"instances"`
	ThetaMax  float64  `json:"theta_max"`
	Approval  approval `json:"approval"`
}

// approval says which plans wait for a person.
type approval struct {
	Auto string `json:"auto"`
}

// approvals are what it may say: only plans that break limits wait, none, or all.
var approvals = []approval{{"within_limits"}, {"always"}, {"never"}}

// firstConfiguration is that of a new operator.
var firstConfiguration = configuration{4, 0.5, approvals[0]}

// newConfiguration draws one; n tells it from others.
func newConfiguration(r *rand.Rand, n int) configuration {
	return configuration{3 + r.IntN(4), 0.3 + float64(n)/1e6, approvals[r.IntN(3)]}
}

// String is the configuration as a state has it.
func (c configuration) String() string {
	return fmt.Sprintf("%d instances, theta_max %v", c.Instances, c.ThetaMax)
}
