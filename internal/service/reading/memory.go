package reading

import (
	"plannerd/internal/input/stored"
	"plannerd/internal/web/admission"
	"plannerd/planner"
	"plannerd/store"
)

// What calls hold, in bytes: by BenchmarkMemory of package api, which takes the most
// live memory of requests with a million rows of four columns and keys of 13 bytes
// under frequent collections, rounded up. Decoded columns (50 a row) are not in
// these; they are counted as they are.
const (
	// PlanRowBytes is for a row: the snapshot, the scratch of a strategy and its
	// certificate, its moves and what they do to the table, the encoded input. The
	// text of keys is in the input once more.
	PlanRowBytes = 112
	// AmountBytes is for what a row takes of a resource, as it is planned on and stored.
	AmountBytes = 16
	// ResourceRowBytes is for what planning takes of a row besides where there are several resources and half of the
	// instances are short of some: prices of keys, and their orders.
	ResourceRowBytes = 160
	// CompactRowBytes is for a row of keys that are brought into the compact form
	// besides.
	CompactRowBytes = 64
	// MoveBytes is for a move that is kept and answered, as JSON and as the store
	// takes it; its key stands four times at most.
	MoveBytes    = 128
	MoveKeyTimes = 4
	// TrialMoveBytes is for a move of one plan of a what-if, and trialTextBytes for
	// it in an answer with the plans, besides its key.
	TrialMoveBytes = 48
	TrialTextBytes = 224
	// LoadBytes is for an instance in the answer, once for each plan.
	LoadBytes = 512
	// EntryBytes is for an entry of a stored routing table and its key, as it is
	// read and indexed, or answered.
	EntryBytes = 256
	// ListedBytes is for a move or change that is read from the store and listed.
	ListedBytes = 256
	// ChangeBytes is for a change of the table that a resolution comes to, as the
	// store takes it.
	ChangeBytes = 128
	// MergedRowBytes is for a row of a stored report while it is merged with others.
	MergedRowBytes = 256
	// StoredRowBytes is for a row of a stored input while it is decoded.
	StoredRowBytes = 128
	// ForecastRowBytes is for a key that a forecast remembers.
	ForecastRowBytes = 152
	// ForecastAmountBytes is for what it remembers, and expects, of what the key takes of a resource.
	ForecastAmountBytes = 64
	// SummedBytes is for a migration that is summed up to a flow, and flowBytes for a
	// flow that is then answered.
	SummedBytes = 28
	FlowBytes   = 160
)

// StoredBytes is what a stored input takes while it is decoded, itself included.
func StoredBytes(blob []byte) int64 {
	rows, costs := stored.RowsOf(blob)
	return int64(len(blob)) + int64(rows)*(StoredRowBytes+AmountBytes*int64(costs))
}

// MovedKeyBytes is how long the keys are that a plan moves, together.
func MovedKeyBytes(p *planner.Plan) (n int64) {
	if p.Snapshot.Keys.Len() == 0 { // classes
		return 0
	}
	for _, m := range p.Moves {
		n += int64(len(p.Snapshot.Keys.At(int(m.Item))))
	}
	return n
}

// HoldLists has a lease hold what the long lists of a stored plan take: what it
// moves, and what it does to the table.
func HoldLists(l *admission.Lease, p store.Plan) error {
	items := 2*p.MigrationKeys + max(p.TableAfter-p.TableBefore, p.TableBefore-p.TableAfter)
	return l.Reserve(max(0, items) * ListedBytes)
}

// HoldTable has a lease hold the committed routing table of an operator.
func HoldTable(l *admission.Lease, op store.Operator) error {
	return l.Reserve(op.TableSize * EntryBytes)
}

// ForecastBytes is what a forecast of so many keys takes for an operator with so many resources beside cost.
func ForecastBytes(rows, resources int) int64 {
	return int64(rows) * int64(ForecastRowBytes+resources*ForecastAmountBytes)
}
