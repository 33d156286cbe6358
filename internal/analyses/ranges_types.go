package analyses

import (
	"plannerd/planner"
	"plannerd/planner/ranges"
)

// Follower is one that owns intervals of keys, or is to own some.
type Follower struct {
	ID int32 `json:"id"` // ≥ 0
	// Capacity is its relative speed κ, from 1e-6 to 1e6. Defaults to 1.
	Capacity float64 `json:"capacity,omitzero"`
	// Status: absent it stays; "joined" it is new, "left" it goes in good order,
	// "crashed" it is gone.
	Status ranges.Status `json:"status,omitzero"`
}

func (f *Follower) number(id int32) { f.ID = id }

// Followers are in the order of their names; in JSON also their number.
type Followers = Counted[Follower, *Follower]

// Owner begins an interval of the key space, which ends where the next one begins.
type Owner struct {
	Low      string `json:"low"` // the least key; empty in the first
	Follower int32  `json:"follower"`
}

// Event is what happens to followers.
type Event string

// The events.
const (
	EventCreate Event = "create" // a first division
	EventJoin   Event = "join"   // a new follower at position
	EventLeave  Event = "leave"  // those of event_followers go in good order
	EventCrash  Event = "crash"  // those of event_followers are gone
	EventDrift  Event = "drift"  // nobody comes or goes; the keys are others than when owners was made
)

// RangesRequest asks for a division of the key space among followers (Shuffler
// proposal).
type RangesRequest struct {
	// Followers there are, in their order. In JSON also a number. Defaults to 8.
	Followers Followers `json:"followers,omitzero"`
	// KeyEncoding is how the lows of owners are written: absent as they are, or base64.
	KeyEncoding KeyEncoding `json:"key_encoding,omitzero"`
	// Owners are the present division. Without it, and for any event but create, it is
	// one by quantiles for the same keys, before anybody joins; event drift needs it.
	Owners []Owner `json:"owners,omitzero"`
	// Event: create (default, without owners), join, leave, crash or drift (default,
	// with owners). Followers whose status is given say it all themselves: the event is
	// then left out.
	Event Event `json:"event,omitzero"`
	// Position is the place of the new follower, from 0 to the number of followers: how
	// many are before it. Nil: behind all. Its id is one above the greatest.
	Position *int `json:"position,omitzero"`
	// EventFollowers are the ids of those that leave or crash. Defaults to the last one.
	EventFollowers []int32 `json:"event_followers,omitzero"`
	// Methods: "min_movement", "quantile", one plan each. Defaults to both.
	Methods []ranges.Method `json:"methods,omitzero"`
	// ThetaMax is the tolerance θ_max ≥ 0. Defaults to 0.08.
	ThetaMax *float64 `json:"theta_max,omitzero"`
	// MaxIntervals ≥ 1 bounds the intervals of each follower under min_movement.
	// Defaults to 32.
	MaxIntervals int `json:"max_intervals,omitzero"`

	// SketchK plans by quantile sketches, one of each follower, merged, in place of all
	// keys: k of KLL, from 8 to 2^20; what moves and the loads are then told for the
	// true keys too. 0: by all keys.
	SketchK int `json:"sketch_k,omitzero"`
	// Sketches is how many followers report one, from 1 to 4096: message i, or key i in
	// the order of their hashes, goes to sketch i mod Sketches. Defaults to the number of
	// followers.
	Sketches int `json:"sketches,omitzero"`
	// Confidence of the sketch's error, above 0 and below 1. Defaults to 0.99.
	Confidence float64 `json:"confidence,omitzero"`
	// Seed, from 0 to 2^53−1, of the sketches' coins.
	Seed uint64 `json:"seed,omitzero"`

	// Table asks for what every join to 1…table_followers others and every leave of one
	// of them moves, by both methods, beside the formulas.
	Table bool `json:"table,omitzero"`
	// TableFollowers is from 1 to 500. Defaults to 50. A table has about the square of it
	// in rows.
	TableFollowers int `json:"table_followers,omitzero"`

	// Top bounds the lists of transfers, owners and heavy keys. Defaults to 20.
	Top *int `json:"top,omitzero"`
}

// RangesResult is the answer to a RangesRequest. Shares are parts of the whole
// weight, which is the cost of all keys.
type RangesResult struct {
	KeyEncoding KeyEncoding `json:"key_encoding,omitzero"`
	Keys        int64       `json:"keys"`
	Cost        float64     `json:"cost"`
	State       float64     `json:"state"`
	Event       Event       `json:"event,omitzero"` // absent where statuses said it
	// Sketch is what was planned by; absent when all keys were.
	Sketch *RangesSketch `json:"sketch,omitzero"`
	Plans  []RangesPlan  `json:"plans"`
	Table  []RangesRow   `json:"table,omitzero"`
}

// RangesSketch is the merged summary of the followers.
type RangesSketch struct {
	K          int     `json:"k"`
	Sketches   int     `json:"sketches"`
	Kept       int     `json:"kept"`       // keys that the merged one holds
	Bytes      int     `json:"bytes"`      // of the merged one, as reported
	RankError  float64 `json:"rank_error"` // bound on how far any rank is off, a share
	Confidence float64 `json:"confidence"` // with which it holds
	// ActualError is the greatest difference between a rank by the sketch and by all
	// keys.
	ActualError float64 `json:"actual_error"`
}

// RangesPlan is a new division by one method.
type RangesPlan struct {
	Method   ranges.Method   `json:"method"`
	Balanced bool            `json:"balanced"`
	Causes   []planner.Cause `json:"causes"`
	// Theta is the largest overload, ThetaError bounds by how much it is off.
	Theta      Comparison `json:"theta"`
	ThetaError Comparison `json:"theta_error"`
	Underload  Comparison `json:"underload"`
	Skewness   Comparison `json:"skewness"`

	Moved      float64 `json:"moved"` // share that changes its owner
	MovedError float64 `json:"moved_error"`
	Sent       float64 `json:"sent"` // part of it that crosses the network
	Lost       float64 `json:"lost"` // part of it that is lost
	// LowerBound: no division moves a smaller share in which all are within the tolerance
	// and those that join have their fair share, or as much as here if that is less.
	LowerBound      float64 `json:"lower_bound"`
	LowerBoundError float64 `json:"lower_bound_error"`
	// Formula is the share that a single join or leave of quantiles moves if every key
	// weighs next to nothing; null otherwise.
	Formula *float64 `json:"formula"`
	// Actual is the truth of a plan by a sketch; absent otherwise.
	Actual *RangesActual `json:"actual,omitzero"`

	// KeysMoved, StateMoved and StateFraction (of all state) are what changes its owner.
	KeysMoved     int64   `json:"keys_moved"`
	StateMoved    float64 `json:"state_moved"`
	StateFraction float64 `json:"state_fraction"`

	Followers []RangesLoad `json:"followers"`
	// TransferCount is how many intervals change their owner; Transfers are the first
	// top of them by descending share, then key.
	TransferCount int              `json:"transfer_count"`
	Transfers     []RangesTransfer `json:"transfers"`
	// OwnerCount is the number of intervals; Owners are the first top, from the lowest
	// key on. With a top as great as owner_count they can be posted again.
	OwnerCount int     `json:"owner_count"`
	Owners     []Owner `json:"owners"`
	// OwnersBefore are the first top of the old ones, which transfers start from; none
	// where nobody owned anything.
	OwnersBefore []Owner `json:"owners_before"`
	// Segments are the key space cut wherever an interval begins, before or after: each
	// has one old and one new owner. The first top of segment_count, from the lowest key
	// on.
	SegmentCount int             `json:"segment_count"`
	Segments     []RangesSegment `json:"segments"`
	Empty        []RangesEmpty   `json:"empty"` // followers that stay and get no known key
	// HeavyKeys weigh more than any follower may; the first top of heavy_key_count.
	HeavyKeyCount int              `json:"heavy_key_count"`
	HeavyKeys     []RangesHeavyKey `json:"heavy_keys"`
}

// RangesActual are figures of a plan by a sketch for the true keys.
type RangesActual struct {
	Theta Comparison `json:"theta"`
	Moved float64    `json:"moved"`
}

// RangesLoad is what a plan does to one follower.
type RangesLoad struct {
	ID              int32         `json:"id"`
	Capacity        float64       `json:"capacity"`
	Status          ranges.Status `json:"status,omitzero"`
	Fair            float64       `json:"fair"` // share; 0 of one that goes
	Before          float64       `json:"before"`
	After           float64       `json:"after"`
	BeforeError     float64       `json:"before_error"`
	AfterError      float64       `json:"after_error"`
	IntervalsBefore int           `json:"intervals_before"`
	IntervalsAfter  int           `json:"intervals_after"`
	In              float64       `json:"in"` // shares received and given away
	Out             float64       `json:"out"`
	KeysBefore      int64         `json:"keys_before"`
	KeysAfter       int64         `json:"keys_after"`
	StateIn         float64       `json:"state_in"`
	StateOut        float64       `json:"state_out"`
}

// RangesTransfer is an interval that changes its owner: keys from low on and below
// high.
type RangesTransfer struct {
	From int32 `json:"from"`
	To   int32 `json:"to"`
	// Source is who sends it: from, after a crash its replica; to when nothing has to be
	// sent; null when it is lost. Where keys are asked for (the get phase) it is the
	// authority on these until to, and to's replica, have them; then to is, at once when
	// nothing is sent or it is lost. While keys are put in, nobody is.
	Source     *int32  `json:"source"`
	Low        string  `json:"low"`
	High       *string `json:"high"` // null: up to the end
	Share      float64 `json:"share"`
	ShareError float64 `json:"share_error"`
	Keys       int64   `json:"keys"`
	Cost       float64 `json:"cost"`
	State      float64 `json:"state"`
}

// RangesSegment is a part of the key space with one owner before and one after: keys
// from low on and below high.
type RangesSegment struct {
	Low    string  `json:"low"`
	High   *string `json:"high"`   // null: up to the end
	Before *int32  `json:"before"` // null: nobody owned it
	After  int32   `json:"after"`
	Keys   int64   `json:"keys"`
	Cost   float64 `json:"cost"`
	State  float64 `json:"state"`
}

// RangesEmpty is a follower without any known key.
type RangesEmpty struct {
	Follower int32   `json:"follower"`
	Key      *string `json:"key"`   // that covers all of its quantile range; null if none does
	Share    float64 `json:"share"` // of that key
}

// RangesHeavyKey is a key that weighs more than any follower may.
type RangesHeavyKey struct {
	Key         string  `json:"key"`
	Follower    int32   `json:"follower"`
	Share       float64 `json:"share"`
	ForcedTheta float64 `json:"forced_theta"` // the least θ because of it
}

// RangesRow is one change of n followers. All figures but counts and θ are shares.
type RangesRow struct {
	Event            Event   `json:"event"`     // join or leave
	Followers        int     `json:"followers"` // n, before
	Left             int     `json:"left"`      // i
	Right            int     `json:"right"`     // j
	Formula          float64 `json:"formula"`
	Quantile         float64 `json:"quantile"` // what the plan by quantiles moves
	Slack            float64 `json:"slack"`    // at most so far from the formula
	Least            float64 `json:"least"`    // 1/(n+1) of a join, 1/n of a leave
	MinMovement      float64 `json:"min_movement"`
	LowerBound       float64 `json:"lower_bound"`
	Transfers        int     `json:"transfers"`
	Intervals        int     `json:"intervals"` // of one follower, at most
	ThetaQuantile    float64 `json:"theta_quantile"`
	ThetaMinMovement float64 `json:"theta_min_movement"`
}
