package statements

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"

	"plannerd/store"
)

// Field pairs a column of the table plans with a pointer to the plan's field: a
// value to insert and a target to scan into.
type Field struct {
	Column string
	Value  any
}

// PlanFields returns the columns that hold p's record, figures included, in one
// order for all statements. at makes of a pointer to a time, which is nil for NULL,
// what the driver reads and writes.
func PlanFields(p *store.Plan, at func(**time.Time) any) []Field {
	return append(SummaryFields(p, at),
		Field{"instances", JSON{P: &p.Instances}},
		Field{"hot_keys", JSON{P: &p.HotKeys}},
		Field{"splits", JSON{P: &p.Splits}},
		Field{"resources", JSON{P: &p.Resources}},
		Field{"reports", JSON{P: &p.Reports}},
		Field{"awaited", numbers(&p.Awaited)},
		Field{"routers", epochs(&p.Routers)},
	)
}

// SummaryFields is PlanFields without what grows with the operator: a list of
// many plans holds these alone.
func SummaryFields(p *store.Plan, at func(**time.Time) any) []Field {
	created := &p.CreatedAt
	return append([]Field{
		{"id", &p.ID},
		{"epoch", &p.Epoch},
		{"interval", &p.Interval},
		{"status", &p.Status},
		{"strategy", &p.Strategy},
		{"parameters", JSON{P: &p.Parameters}},
		{"base_version", &p.BaseVersion},
		{"version", &p.Version},
		{"config_version", &p.ConfigVersion},
		{"fingerprint", &p.Fingerprint},
		{"created_at", at(&created)},
		{"classes", &p.Classes},
		{"engine_table", &p.EngineTable},
		{"resolved_keys", &p.ResolvedKeys},
		{"expires_at", at(&p.ExpiresAt)},
		{"executor", &p.Executor.Name},
		{"scheme", &p.Scheme},
		{"source_fingerprint", &p.Source},
		{"outdated", &p.Outdated},
		{"executor_epoch", &p.Executor.Epoch},
		{"executor_since", at(&p.ExecutorSince)},
		{"waits_for", list(&p.WaitsFor)},
		{"leaves_open", &p.LeavesOpen},
		{"undo", JSON{P: &p.Undo}},
		{"approvers", &p.Approvers},
		{"approved_by", list(&p.ApprovedBy)},
		{"superseded_by", &p.SupersededBy},
		{"limits_changed", &p.LimitsChanged},
		{"latest", JSON{P: &p.Latest}},
		{"batch_count", &p.BatchCount},
		{"batches_done", &p.BatchesDone},
		{"stopping", &p.Stopping},
	}, figureFields(&p.Figures)...)
}

func figureFields(f *store.Figures) []Field {
	return []Field{
		{"end_reason", &f.EndReason},
		{"causes", list(&f.Causes)},
		{"balanced", &f.Balanced},
		{"table_within_limit", &f.TableWithinLimit},
		{"theta_before", &f.ThetaBefore},
		{"theta_after", &f.ThetaAfter},
		{"theta_realised", &f.ThetaRealised},
		{"underload_before", &f.UnderloadBefore},
		{"underload_after", &f.UnderloadAfter},
		{"skewness_before", &f.SkewnessBefore},
		{"skewness_after", &f.SkewnessAfter},
		{"table_before", &f.TableBefore},
		{"table_after", &f.TableAfter},
		{"merges", &f.Merges},
		{"migration_keys", &f.MigrationKeys},
		{"migration_state", &f.MigrationState},
		{"migration_fraction", &f.MigrationFraction},
		{"objective", &f.Objective},
		{"forced_keys", &f.ForcedKeys},
		{"forced_state", &f.ForcedState},
		{"returned_state", &f.ReturnedState},
		{"affinity", JSON{P: &f.Affinity}},
		{"drifted_keys", &f.DriftedKeys},
		{"idle_entries", &f.IdleEntries},
		{"input_hash", &f.InputHash},
		{"planner_revision", &f.PlannerRevision},
		{"work_units", &f.WorkUnits},
		{"decode_ms", &f.DecodeMS},
		{"plan_ms", &f.PlanMS},
		{"certificate", JSON{P: &f.Certificate}},
		{"compaction", JSON{P: &f.Compaction}},
		{"pending", JSON{P: &f.Pending}},
		{"forecast", JSON{P: &f.Forecast}},
	}
}

// columns returns the names of fields.
func columns(fields []Field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Column
	}
	return names
}

// values returns the values of fields.
func values(fields []Field) []any {
	values := make([]any, len(fields))
	for i, f := range fields {
		values[i] = f.Value
	}
	return values
}

// JSON reads and writes a JSON document as the bytes that it is. No bytes are
// NULL.
type JSON struct {
	P *[]byte
	// Decoded: whoever reads it decodes it, and so would notice that it is none.
	Decoded bool
}

// Value implements [driver.Valuer].
func (j JSON) Value() (driver.Value, error) {
	if len(*j.P) == 0 {
		return nil, nil
	}
	return string(*j.P), nil
}

// Scan implements [database/sql.Scanner].
func (j JSON) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*j.P = nil
		return nil
	case string:
		*j.P = []byte(v)
	case []byte:
		*j.P = append([]byte(nil), v...) // the driver may use v again
	default:
		return fmt.Errorf("%w: JSON read as %T", store.ErrDamaged, src)
	}
	if !j.Decoded && !json.Valid(*j.P) {
		return fmt.Errorf("%w: no JSON", store.ErrDamaged)
	}
	return nil
}

// decode reads JSON that a column holds.
func decode(text []byte, into any) error {
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%w: %w", store.ErrDamaged, err)
	}
	return nil
}

// Parts is how the column of an entry holds its parts: NULL, if there are none.
func Parts(parts string) []byte {
	if parts == "" {
		return nil
	}
	return []byte(parts)
}

// partsOf reads such a column.
type partsOf struct{ p *string }

func (x partsOf) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*x.p = ""
	case []byte:
		*x.p = string(v)
	default:
		return fmt.Errorf("%w: parts read as %T", store.ErrDamaged, src)
	}
	return nil
}

// encoded keeps a list or a map as JSON. An empty one is kept as empty, "" for NULL, and read as nil.
type encoded[T []string | []int32 | map[string]int64] struct {
	p     *T
	empty string
}

func list(p *[]string) encoded[[]string]                   { return encoded[[]string]{p, "[]"} }
func numbers(p *[]int32) encoded[[]int32]                  { return encoded[[]int32]{p, ""} }
func epochs(p *map[string]int64) encoded[map[string]int64] { return encoded[map[string]int64]{p, ""} }

func (e encoded[T]) Value() (driver.Value, error) {
	text := []byte(e.empty)
	var err error
	if len(*e.p) > 0 {
		text, err = json.Marshal(*e.p)
	}
	value, _ := JSON{P: &text}.Value() // which never fails
	return value, err
}

func (e encoded[T]) Scan(src any) error {
	var text []byte
	if err := (JSON{P: &text, Decoded: true}).Scan(src); err != nil {
		return err
	}
	if *e.p = nil; string(text) == e.empty {
		return nil
	}
	return decode(text, e.p)
}

// NoTime stands in for a driver's times where only the other fields matter.
func NoTime(**time.Time) any { return nil }
