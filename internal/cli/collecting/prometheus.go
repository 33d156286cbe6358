package collecting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/cli"
	"plannerd/internal/cli/asking"
	"plannerd/planner"
)

// Prometheus is the command that collects what a query returns.
type Prometheus struct {
	URL        string        `name:"url" required:"true" placeholder:"URL" help:"Address of Prometheus, or of what answers as it does, such as Thanos, Mimir or VictoriaMetrics."`
	Query      string        `required:"true" placeholder:"PROMQL" help:"What a key costs: a query that returns a series for each key."`
	StateQuery string        `placeholder:"PROMQL" help:"How much state a key has: a query that returns a series for each key (default: none)."`
	Key        string        `required:"true" placeholder:"LABEL" help:"The label that has the key."`
	Instance   string        `placeholder:"LABEL" help:"The label of --query that has the instance on which the key is (default: none)."`
	From       time.Duration `placeholder:"-DURATION" help:"Collect data from this long ago on, such as -1h, cut into intervals by --every (default: what is from now on)."`
	Flags
	Login

	idle
	client   *http.Client
	password string
}

// answerTime is for how long an answer may take, and answerBytes how long it may be.
const (
	answerTime  = time.Minute
	answerBytes = 1 << 30
)

// Run executes the command.
func (c *Prometheus) Run(env *cli.Environment) error {
	if err := asking.NoSecrets("--url", c.URL); err != nil {
		return err
	}
	past := c.From.Abs()
	s, err := c.scheduleOf(past, time.Minute)
	if err != nil {
		return err
	}
	if c.password, err = c.Login.password(env); err != nil {
		return err
	}
	config, err := c.tls()
	if err != nil {
		return err
	}
	transport := &http.Transport{TLSClientConfig: config, Proxy: http.ProxyFromEnvironment}
	defer transport.CloseIdleConnections()
	c.client = &http.Client{Transport: transport, Timeout: answerTime}
	r, err := c.begin(env, "prometheus", s)
	if err != nil {
		return err
	}
	defer r.out.Close()
	if past == 0 {
		return r.live(env.Ctx, c)
	}
	start := time.Now().Add(-past)
	looks, err := c.looks(env.Ctx, start.Add(s.every), s.every, s.most)
	if err != nil {
		return err
	}
	return r.past(env.Ctx, start, looks)
}

func (c *Prometheus) look(ctx context.Context, end time.Time) (*look, error) {
	looks, err := c.looks(ctx, end, 0, 1)
	if err != nil {
		return nil, err
	}
	return looks[0], nil
}

// looks are what the queries return at n times.
func (c *Prometheus) looks(ctx context.Context, first time.Time, step time.Duration, n int) ([]*look, error) {
	path, v := "query", url.Values{"time": {seconds(first)}}
	if step > 0 {
		last := first.Add(time.Duration(n-1) * step)
		path, v = "query_range", url.Values{"start": {seconds(first)}, "end": {seconds(last)},
			"step": {strconv.FormatFloat(step.Seconds(), 'f', -1, 64)}}
	}
	out := make([]*look, n)
	for i := range out {
		out[i] = &look{at: first.Add(time.Duration(i) * step), instant: true, stateless: c.StateQuery == "",
			located: c.Instance != "", keys: map[string]sample{}}
	}
	out[0].assumed = "a key costs what its series is at the end of an interval; a key without a series costs nothing"
	if err := c.fill(ctx, out, path, c.Query, v, false); err != nil {
		return nil, fmt.Errorf("--query: %w", err)
	}
	if c.StateQuery != "" {
		if err := c.fill(ctx, out, path, c.StateQuery, v, true); err != nil {
			return nil, fmt.Errorf("--state-query: %w", err)
		}
	}
	return out, nil
}

// seconds writes a time as Prometheus reads it, to the millisecond as it keeps it.
func seconds(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }

// fill asks a query, and adds what each series has at the times of the looks: costs, or states.
func (c *Prometheus) fill(ctx context.Context, looks []*look, path, query string, v url.Values, states bool) error {
	v.Set("query", query)
	series, warnings, err := c.ask(ctx, path, v)
	if err != nil {
		return err
	}
	first, step := float64(looks[0].at.UnixMilli())/1000, math.Inf(1) // all is at the one time
	if len(looks) > 1 {
		step = looks[1].at.Sub(looks[0].at).Seconds()
	}
	labels, keyless, bad, elsewhere := map[string]bool{}, 0, 0, 0
	for _, s := range series {
		key, instance := s.Metric[c.Key], s.Metric[c.Instance]
		if key == "" || len(key) > planner.MaxKeyBytes {
			keyless++
			for label := range s.Metric {
				labels[label] = true
			}
			continue
		}
		for _, p := range append(s.Values, s.Value...) {
			if !(p.value >= 0) || p.value > planner.MaxAmount {
				bad++
			} else if i := int(math.Round((p.time - first) / step)); i >= 0 && i < len(looks) {
				elsewhere += looks[i].add(key, instance, p.value, states)
			}
		}
	}
	if keyless > 0 && keyless == len(series) {
		return fmt.Errorf("no series has the label %s; they have %s", c.Key,
			cmp.Or(strings.Join(slices.Sorted(maps.Keys(labels)), ", "), "none"))
	}
	l := looks[0]
	l.problem(keyless, "series left out: they have no label "+c.Key+", or one of more than 1024 bytes")
	l.problem(bad, "values left out that are no numbers of 0 or more")
	l.problem(elsewhere, "values of a key that is on several instances: it is given to the one where it costs most")
	l.problems = append(l.problems, warnings...)
	return nil
}

// add adds a value to a key, which is on the instance where it costs most. It returns 1 where the
// key was on another one, else 0.
func (l *look) add(key, instance string, x float64, state bool) (elsewhere int) {
	s, known := l.keys[key]
	if state {
		s.state += x
	} else {
		if known && instance != s.instance {
			elsewhere = 1
		}
		if !known || x > s.most {
			s.instance, s.most = instance, x
		}
		s.cost += x
	}
	l.keys[key] = s
	return elsewhere
}

// problem notes how often something was found.
func (l *look) problem(n int, text string) {
	if n > 0 {
		l.problems = append(l.problems, fmt.Sprintf("%d %s", n, text))
	}
}

// promSeries is a series of a vector, with a value, or of a matrix, with values.
type promSeries struct {
	Metric map[string]string `json:"metric"`
	Value  promPoints        `json:"value"`
	Values promPoints        `json:"values"`
}

// promPoints are pairs of a time, in seconds since 1970, and a value; or one such pair.
type promPoints []struct{ time, value float64 }

// UnmarshalJSON reads [time, "value"], or a list of these.
func (p *promPoints) UnmarshalJSON(text []byte) error {
	var pairs [][2]any
	if err := json.Unmarshal(text, &pairs); err != nil {
		pairs = make([][2]any, 1)
		if err := json.Unmarshal(text, &pairs[0]); err != nil {
			return err
		}
	}
	for _, pair := range pairs {
		at, timed := pair[0].(float64)
		value, err := strconv.ParseFloat(fmt.Sprint(pair[1]), 64)
		if !timed || err != nil {
			return fmt.Errorf("%s is no time with a value", text)
		}
		*p = append(*p, struct{ time, value float64 }{at, value})
	}
	return nil
}

// ask asks a query. Errors name the address, and have neither password nor token.
func (c *Prometheus) ask(ctx context.Context, path string, v url.Values) ([]promSeries, []string, error) {
	target := strings.TrimRight(c.URL, "/") + "/api/v1/" + path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target+"?"+v.Encode(), http.NoBody)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case c.User != "":
		request.SetBasicAuth(c.User, c.password)
	case c.password != "":
		request.Header.Set("Authorization", "Bearer "+c.password)
	}
	response, err := c.client.Do(request)
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		return nil, nil, fmt.Errorf("%s: %w", target, failed.Err) // without the query
	}
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	var answer struct {
		Status   string   `json:"status"`
		Error    string   `json:"error"`
		Warnings []string `json:"warnings"`
		Data     struct {
			Type   string         `json:"resultType"`
			Result jsontext.Value `json:"result"`
		} `json:"data"`
	}
	err = json.UnmarshalRead(io.LimitReader(response.Body, answerBytes), &answer)
	switch {
	case response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden:
		return nil, nil, fmt.Errorf("%s: %s: give --user and --password-file, or a token in --password-file", target,
			response.Status)
	case err != nil:
		return nil, nil, fmt.Errorf("%s: %s: it is not an answer of Prometheus: %w", target, response.Status, err)
	case answer.Status != "success":
		return nil, nil, fmt.Errorf("%s: %s: %s", target, response.Status, answer.Error)
	case answer.Data.Type != "vector" && answer.Data.Type != "matrix":
		return nil, nil, fmt.Errorf("the result is a %s; what is needed is a series for each key, such as those of "+
			"sum by (%s) (…)", answer.Data.Type, c.Key)
	}
	var series []promSeries
	if err := json.Unmarshal(answer.Data.Result, &series); err != nil {
		return nil, nil, fmt.Errorf("%s: it is not an answer of Prometheus: %w", target, err)
	}
	return series, answer.Warnings, nil
}
