package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"plannerd/sdk/go/wire"
)

// TestAffinity plans keys that stay together as one, whatever the order of the rows.
func TestAffinity(t *testing.T) {
	rows := []string{"order{7}/a,0.1,2", "order{7}/b,0.7,1", "order{8},0.2,1", "{7},0.4,1", "order9,0.6,1", "{}x,1,1"}
	plan := func(rows []string, args ...string) (out struct {
		InputHash  string
		Affinity   wire.AffinityFigures
		Migrations []wire.Migration
		Plan       wire.WhatIfPlan
	}) {
		args = append([]string{"plan", "-", "--instances", "2", "--output", "json"}, args...)
		text := succeed(t, "key,cost,state\n"+strings.Join(rows, "\n")+"\n", args...)
		if err := json.Unmarshal([]byte(text), &out, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		return out
	}
	one := plan(rows, "--affinity", "tag")
	slices.Reverse(rows)
	if other := plan(rows, "--affinity", "tag"); other.InputHash != one.InputHash ||
		one.Affinity != (wire.AffinityFigures{Keys: 6, RoutedKeys: 4}) {
		t.Errorf("%+v, %+v", one, other)
	}
	if text := succeed(t, "key,cost\na/1/x,1\na/1/y,1\na/2,1\nb,1\n", "plan", "-", "--instances", "2", "--affinity",
		"until=/,count=2"); !strings.Contains(text, "on 4 keys in 3 groups, 2 instances") {
		t.Error(text)
	}
	for _, wrong := range []string{"", "tags", "until=", "until=/,count=0", "until=/,count=x"} {
		if r := exec(t, nil, nil, "plan", "-", "--affinity", wrong); r.code != exitUsage {
			t.Errorf("%q: %+v", wrong, r)
		}
	}
	if r := exec(t, nil, nil, "plan", "-", "--affinity", "tag", "--split"); r.code != exitUsage {
		t.Errorf("%+v", r)
	}
}
