package offline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"plannerd/compact"
	"plannerd/internal/cli"
	"plannerd/internal/cli/reading"
	"plannerd/internal/drive"
	"plannerd/internal/input"
	"plannerd/internal/parameters"
	"plannerd/planner"
	"plannerd/sdk/go/wire"
)

// ScaleFlags are the scales of the compact form.
type ScaleFlags struct {
	CostScale  *float64 `placeholder:"X" group:"Compact form" help:"The real cost of a discretised 1 (default: of keys the smallest positive cost, of compact records 1)."`
	StateScale *float64 `placeholder:"X" group:"Compact form" help:"The real state of a discretised 1 (default: of keys the smallest positive state, of compact records 1)."`
}

// form checks the flags. Of degree 0 keys are planned as they are; scales that are not given
// are 0.
func (f *driveFlags) form() (compact.Options, error) {
	if f.Compact == 0 {
		scales, err := f.scales()
		return compact.Options{Scales: scales}, err
	}
	if len(f.Resources) > 0 {
		return compact.Options{}, cli.Usagef("--compact: not with --resource: a record has one cost")
	}
	return f.ScaleFlags.Form("--compact", f.Compact)
}

// Form is the form of a degree that a flag gives.
func (f *ScaleFlags) Form(flag string, degree int) (compact.Options, error) {
	if err := compact.ValidateDegree(degree); err != nil {
		return compact.Options{}, cli.Usagef("%s: %s", flag, detail(err))
	}
	scales, err := f.scales()
	return compact.Options{Degree: degree, Scales: scales}, err
}

// degreeText is what heads say about the degree.
func (f *driveFlags) degreeText() string {
	if f.Compact == 0 {
		return ""
	}
	text := fmt.Sprintf(", in compact form of degree %d", f.Compact)
	if f.CostScale != nil {
		text += ", cost scale " + cli.Exact(*f.CostScale)
	}
	if f.StateScale != nil {
		text += ", state scale " + cli.Exact(*f.StateScale)
	}
	return text
}

func (f *ScaleFlags) scales() (compact.Scales, error) {
	s, err := scalesOf(f.CostScale, f.StateScale)
	return s, reading.AsFlag(err)
}

// scalesOf are the scales that are given, checked; 0 for nil.
func scalesOf(cost, state *float64) (compact.Scales, error) {
	one := 1.0
	given := compact.Scales{Cost: *cmp.Or(cost, &one), State: *cmp.Or(state, &one)}
	return parameters.Compact{CostScale: cost, StateScale: state}.Options().Scales, given.Validate()
}

// detail is what an input error says without its field.
func detail(err error) string {
	if given, ok := err.(*planner.InputError); ok { //nolint:errorlint // as it came
		return given.Detail
	}
	return err.Error()
}

// statistics are the compact records of an input, with their scales: those that
// the input names, else those of the flags, else 1.
func statistics(form compact.Options, given *input.Document) (*compact.Statistics, error) {
	if form.Degree > 0 {
		return nil, cli.Usagef("--compact: the input holds compact records already")
	}
	named, err := namedForm(given)
	if err != nil {
		return nil, err
	}
	st := &compact.Statistics{Records: given.Records}
	if given.Stats != nil && given.Stats.Len() > 0 {
		st.Named = given.Stats
	}
	if named.Degree != nil {
		st.Degree = int(*named.Degree)
	}
	if st.Scales.Cost, err = oneScale("--cost-scale", form.Scales.Cost, named.CostScale); err != nil {
		return nil, err
	}
	st.Scales.State, err = oneScale("--state-scale", form.Scales.State, named.StateScale)
	return st, err
}

func oneScale(flag string, given float64, named *float64) (float64, error) {
	switch {
	case named != nil && given != 0 && given != *named:
		return 0, cli.Usagef("%s: is %v, but the input says %v", flag, given, *named)
	case named != nil:
		return *named, nil
	case given != 0:
		return given, nil
	}
	return 1, nil
}

// namedForm is what "compact" of a JSON body says beside its records.
func namedForm(given *input.Document) (named wire.CompactStatistics, err error) {
	text, ok := given.Members["compact"]
	if !ok {
		return named, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&named); err != nil {
		return named, fmt.Errorf("compact: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if named.Degree != nil {
		if err := compact.ValidateDegree(int(*named.Degree)); err != nil {
			return named, fmt.Errorf("compact, degree: %s", detail(err))
		}
	}
	if _, err := scalesOf(named.CostScale, named.StateScale); err != nil {
		return named, errors.New("compact, " + parameters.InputError(err).Error())
	}
	return named, nil
}

// formOf describes classes. greatest is the greatest error of their loads, or
// nil where the keys are not known.
func formOf(c *compact.Classes, degree int, greatest *planner.Comparison) *drive.Compaction {
	f := &drive.Compaction{
		Degree: degree, CostScale: c.Scales.Cost, StateScale: c.Scales.State, Records: c.Items.Len(), Error: greatest,
	}
	for _, n := range c.Items.Count {
		f.Keys += n
	}
	return f
}

// describe says in a sentence what was planned on.
func describe(f *drive.Compaction) string {
	degree := ""
	if f.Degree > 0 {
		degree = fmt.Sprintf(" of degree %d", f.Degree)
	}
	return fmt.Sprintf("Compact form%s: %s of %s, cost scale %s, state scale %s.",
		degree, cli.Plural(f.Records, "record"), cli.Plural(f.Keys, "key"), cli.Exact(f.CostScale), cli.Exact(f.StateScale))
}

// formText is describe and how right it is; "" when keys were planned on.
func formText(f *drive.Compaction) string {
	switch {
	case f == nil:
		return ""
	case f.Error == nil:
		return describe(f) + " Loads and states are those of the records."
	}
	return fmt.Sprintf("%s Their loads are off by at most %s before the plan, %s after it.",
		describe(f), cli.ErrorText(f.Error.Before), cli.ErrorText(f.Error.After))
}
