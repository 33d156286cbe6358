package parameters

import (
	"cmp"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"plannerd/planner"
)

// Every field of Values is a parameter, and every parameter of the scheme table is a
// field.
func TestListIsWhole(t *testing.T) {
	for name := range fields {
		if parameter(name) == nil {
			t.Errorf("%s is not in the list", name)
		}
	}
	names := map[string]bool{}
	for _, p := range All() {
		if names[p.Name] {
			t.Errorf("%s stands twice", p.Name)
		}
		names[p.Name] = true
		if _, ok := fields[p.Name]; ok != p.KnownTo(SchemeTable) {
			t.Errorf("%s is a field: %v", p.Name, ok)
		}
		if p.Label == "" || p.Help == "" || (p.Default == nil) != (p.None != "") {
			t.Errorf("%s lacks a label, a line of help, or a default or a word for none", p.Name)
		}
		if p.Default != nil && p.outside(p.Default) != "" {
			t.Errorf("%s: its default %v %s", p.Name, p.Default, p.outside(p.Default))
		}
	}
	for _, info := range planner.Strategies() {
		for _, name := range info.Reads {
			if !names[name] {
				t.Errorf("strategy %s reads %s, which is not in the list", info.Name, name)
			}
		}
	}
}

func TestDefaults(t *testing.T) {
	v := Defaults()
	if err := v.Check(planner.DefaultStrategy); err != nil {
		t.Error(err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"theta_max":0.08,"table_limit":null,"beta":1.5,"key_overhead":0,"certificate":"fast","effort":"fast","objective":"min_migration",` +
		`"work_budget":0,"migration_limit":null,"deadline":null,"compact":{"degree":0,"cost_scale":null,"state_scale":null},"splitting":{"max_parts":1,"merge_cost":0}}`
	if string(text) != want {
		t.Errorf("in JSON\n%s, want\n%s", text, want)
	}
	var again Values
	if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(again, v) {
		t.Errorf("%+v from JSON, want %+v: %v", again, v, err)
	}
}

// samples are texts of values that are not the default, of each type.
var samples = map[Type][]string{
	Number: {"0.5", "1000"}, Integer: {"1", "4"}, Choice: nil,
	Limit: {"5%", "1200keys", "3000"}, Interval: {"500ms", "1m30s"},
}

// What is written as text or as JSON is read as what it was.
func TestRoundTrips(t *testing.T) {
	for _, p := range All() {
		if !p.KnownTo(SchemeTable) {
			continue
		}
		for _, text := range append(slices.Concat(samples[p.Type], p.Words()), p.Text(p.Default)) {
			if x, err := strconv.ParseFloat(text, 64); err == nil && x > p.Maximum && p.Type == Number {
				continue
			} else if p.Unit == Share && x >= 1 {
				text += "%"
			}
			value, err := p.Parse(text)
			if err != nil {
				t.Fatalf("%s: %v", p.Name, err)
			}
			v := Defaults()
			p.Set(&v, value)
			if got := p.Get(&v); !reflect.DeepEqual(got, value) {
				t.Errorf("%s: %v, want %v", p.Name, got, value)
			}
			if again, err := p.Parse(p.Text(value)); err != nil || !reflect.DeepEqual(again, value) {
				t.Errorf("%s: %v of %q, want %v: %v", p.Name, again, p.Text(value), value, err)
			}
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			again := Values{}
			if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(again, v) {
				t.Errorf("%s: %+v of %s, want %+v: %v", p.Name, again, text, v, err)
			}
		}
	}
}

func TestParse(t *testing.T) {
	share, state, keys := 0.05, 3e6, int64(1200)
	for _, c := range []struct {
		name, text string
		want       any
		wrong      string // "" when it is right
	}{
		{"theta_max", "5%", 0.05, ""},
		{"theta_max", " 5 % ", 0.05, ""},
		{"theta_max", "-5%", nil, "a number of 0 or more, or a share such as 5%"},
		{"theta_max", "much", nil, "a number of 0 or more"},
		{"theta_max", "NaN", nil, "a number of 0 or more"},
		{"theta_max", "Inf", nil, "a number of 0 or more"},
		{"beta", "150%", nil, "must be a number of 0 or more"},
		{"table_limit", "none", nil, ""},
		{"table_limit", "None", nil, ""},
		{"table_limit", "3000", int64(3000), ""},
		{"table_limit", "1.5", nil, "must be a whole number of 0 or more, or none"},
		{"table_limit", "-1", nil, "must be a whole number of 0 or more, or none"},
		{"sigma", "auto", nil, ""},
		{"key_overhead", "1e300", nil, "must be at most 1e+290"},
		{"certificate", "slow", nil, "must be one of off, fast, tight"},
		{"migration_limit", "5%", MigrationLimit{Fraction: &share}, ""},
		{"migration_limit", "fraction:0.05", MigrationLimit{Fraction: &share}, ""},
		{"migration_limit", "1200keys", MigrationLimit{Keys: &keys}, ""},
		{"migration_limit", "keys:1200", MigrationLimit{Keys: &keys}, ""},
		{"migration_limit", "3e6", MigrationLimit{State: &state}, ""},
		{"migration_limit", "state:3e6", MigrationLimit{State: &state}, ""},
		{"migration_limit", "101%", nil, "a share of all state such as 5%"},
		{"migration_limit", "1.5keys", nil, "a number of keys such as 1200keys"},
		{"migration_limit", "-1", nil, "an amount of state"},
		{"migration_limit", "bytes:7", nil, "an amount of state"},
		{"deadline", "1m30s", Duration(90 * time.Second), ""},
		{"deadline", "soon", nil, "must be a time such as 500ms or 1m30s"},
		{"compact/degree", "8", int64(8), ""},
		{"compact/degree", "6", nil, "must be 0 or a power of two up to 2^30"},
		{"ring/max_rounds", "0", nil, "must be a whole number from 1 to 65536"},
	} {
		got, err := parameter(c.name).Parse(c.text)
		switch {
		case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%s %q: %v, want %q", c.name, c.text, err, c.wrong)
		case c.wrong == "" && (err != nil || !reflect.DeepEqual(got, c.want)):
			t.Errorf("%s %q: %v, want %v: %v", c.name, c.text, got, c.want, err)
		}
	}
	p := parameter("table_limit")
	if got, err := p.ParseList("50, 100,none"); err != nil || !reflect.DeepEqual(got, []any{int64(50), int64(100), nil}) {
		t.Errorf("the list is %v: %v", got, err)
	}
	if _, err := p.ParseList("50,,100"); err == nil {
		t.Error("nothing between two commas is taken for a number")
	}
}

// parameter is that of a name, nil if there is none.
func parameter(name string) *Parameter {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// read reads a grid.
func read(t *testing.T, text string) (g Grid) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func TestTrials(t *testing.T) {
	for _, c := range []struct {
		strategies, grid string
		want             string // of each trial what the grid varies; or the problems, "field: detail"
	}{
		{"mixed", `{}`, "mixed"},
		{"mixed,lpt", `{"theta_max":[0.02,0.08],"table_limit":[5,null]}`,
			"mixed 0.02 5|mixed 0.02 none|mixed 0.08 5|mixed 0.08 none|lpt 0.02 5|lpt 0.02 none|lpt 0.08 5|lpt 0.08 none"},
		{"mixed,optimal",
			`{"objective":["min_migration","min_imbalance"],"migration_limit":[{"fraction":0.05},{"keys":7}],"deadline":"1s"}`,
			"mixed min_migration none 1s|optimal min_migration none 1s|optimal min_imbalance 5% 1s|optimal min_imbalance " +
				"7keys 1s"},
		{"optimal", `{"effort":["fast","thorough"]}`, "optimal fast|optimal thorough"},
		{"optimal", `{"max_parts":[1,4],"split_price":[7,null]}`, "optimal 1 infinite|optimal 4 7|optimal 4 infinite"},
		{"optimal", `{"max_parts":1,"split_price":7}`, "split_price: is for max_parts above 1"},
		{"optimal", `{"split_price":[7,null]}`, "split_price: is for max_parts above 1"},
		{"optimal", `{"split_price":[null]}`, "optimal infinite"},
		{"optimal", `{"max_parts":4,"split_price":0}`, "split_price: must be a number from 1e-290 to 1e+290, or infinite"},
		{"readj", `{"sigma":[null,0.5],"compact_degree":[0,8]}`, "readj auto 0|readj auto 8|readj 0.5 0|readj 0.5 8"},
		{"mixed", `{"objective":"min_imbalance"}`, "objective: min_imbalance is known to strategy optimal only"},
		{"mixed,optimal", `{"objective":"min_imbalance"}`, "objective: min_imbalance is known to strategy optimal only"},
		{"optimal", `{"objective":"min_imbalance"}`, "migration_limit: is needed with objective min_imbalance"},
		{"optimal", `{"objective":"min_imbalance","migration_limit":null}`,
			"migration_limit: is needed with objective min_imbalance"},
		{"optimal", `{"migration_limit":{"keys":1}}`, "migration_limit: belongs to objective min_imbalance"},
		{"mixed", `{"compact_degree":[1,3]}`, "compact_degree/1: must be 0 or a power of two up to 2^30"},
		{"mixed", `{"deadline":["1s","2h"]}`, "deadline/1: must be from 1ms to 1h0m0s"},
		{"mixed", `{"deadline":"1us"}`, "deadline: must be from 1ms to 1h0m0s"},
	} {
		g := read(t, c.grid)
		trials, problems := g.Trials(strings.Split(c.strategies, ","), Defaults(), time.Hour)
		var got []string
		for _, p := range problems {
			got = append(got, p.Error())
		}
		for _, trial := range trials {
			words := []string{trial.Strategy}
			for i := range list {
				if p := &list[i]; g[p.Name] != nil {
					words = append(words, p.Text(p.Get(&trial.Values)))
				}
			}
			got = append(got, strings.Join(words, " "))
		}
		if text := strings.Join(got, "|"); text != c.want {
			t.Errorf("%s under %s:\n%s, want\n%s", c.grid, c.strategies, text, c.want)
		}
	}
	var many []any
	for i := range 17 {
		many = append(many, float64(i))
	}
	_, problems := Grid{"theta_max": many, "beta": many}.Trials([]string{"mixed"}, Defaults(), time.Hour)
	if len(problems) != 1 ||
		problems[0].Error() != "strategies: and parameters make 289 combinations; at most 256 are planned" {
		t.Errorf("too many: %v", problems)
	}
	var g Grid
	if err := json.Unmarshal([]byte(`{"gamma":1}`), &g); !errors.Is(err, json.ErrUnknownName) {
		t.Errorf("an unknown parameter: %v", err)
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct{ strategy, json, want string }{
		{"mixed", `{"theta_max":0.1,"deadline":"1s","compact":{"degree":8,"cost_scale":1}}`, ""},
		{"mixed", `{"theta_max":-1}`, "theta_max: must be ≥ 0 and finite"},
		{"optimal", `{"effort":"thorough"}`, ""},
		{"optimal", `{"effort":"slow"}`, "effort: must be fast, normal or thorough"},
		{"mixed", `{"deadline":"2h"}`, "deadline: must be from 1ms to 1h0m0s"},
		{"mixed", `{"objective":"min_imbalance","migration_limit":{"keys":1}}`,
			"objective: min_imbalance is known to strategy optimal only"},
		{"optimal", `{"objective":"min_imbalance","migration_limit":{"keys":1}}`, ""},
		{"mixed", `{"compact":{"degree":3}}`, "compact/degree: must be a power of two from 1 to 2^30"},
		{"mixed", `{"compact":{"degree":0,"cost_scale":1}}`, "compact/cost_scale: is for a degree above 0"},
		{"mixed", `{"compact":{"degree":0,"state_scale":1}}`, "compact/state_scale: is for a degree above 0"},
		{"mixed", `{"splitting":{"max_parts":4,"merge_cost":1,"price":2}}`, ""},
		{"mixed", `{"splitting":{"max_parts":4,"price":1e300}}`, "splitting/price: must be from 0 to 1e290"},
		{"mixed", `{"splitting":{"max_parts":1,"price":2}}`, "splitting/price: is for max_parts above 1"},
		{"best", `{}`, "strategy: is not a strategy"},
	} {
		v, got := Defaults(), ""
		if err := json.Unmarshal([]byte(c.json), &v); err != nil {
			t.Fatal(err)
		}
		if err := cmp.Or(v.Check(c.strategy), v.CheckDeadline(time.Hour)); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s under %s: %q, want %q", c.json, c.strategy, got, c.want)
		}
	}
}
