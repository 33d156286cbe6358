package statements

import (
	"time"

	"plannerd/store"
)

// Row is an operator's own row.
type Row struct {
	ID                 int64
	Name               string
	ConfigVersion      int64
	TableVersion       int64 // −1: it never had a table
	TableConfigVersion int64
	TableSize          int64
	NextInstance       int64 // see [store.InstanceNames]
	// Epoch and Interval are the newest that has a plan; nil before the first.
	Epoch, Interval      *int64
	CreatedAt, UpdatedAt time.Time
	DeletedAt            *time.Time // nil: it is there
}

// TableVersion is one version in a table's history.
type TableVersion struct {
	Version       int64
	ConfigVersion int64
	PlanID        *string // whose commit or abort made it; nil for the empty first one
	DiffID        *int64  // nil: no entry changed
	CreatedAt     time.Time
	Checksum      *int64 // of the entries; nil: a program made it that knew of none
}

// Origin is what made the version.
func (v TableVersion) Origin() store.Origin {
	o := store.Origin{At: v.CreatedAt}
	if v.PlanID != nil {
		o.Plan = *v.PlanID
	}
	return o
}

// PlanRow is a plan with what only the database needs to know of it.
type PlanRow struct {
	Seq    int64
	DiffID *int64 // nil: it changes nothing in the table
	Input  InputState
	store.Plan
}

// Key is an idempotency key.
type Key struct {
	Name  []byte // a digest of scope and key
	Body  []byte
	Token string
	Until time.Time // the end of the lease
	At    time.Time
	// Status and Answer are there once the request is done.
	Status *int
	Answer []byte
}

// InputState tells whether a plan's input is there.
type InputState string

// BlobKind names one long part of a plan.
type BlobKind string

// The states of a plan's input.
const (
	InputNone   InputState = "none" // the plan was given none
	InputKept   InputState = "kept"
	InputPurged InputState = "purged"
)

// The long parts of a plan that are opaque to the store.
const (
	BlobMigrations BlobKind = "migrations"
	BlobInput      BlobKind = "input"
	BlobAbsences   BlobKind = "absences"
	BlobForecast   BlobKind = "forecast"
)
