package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// part is something that others wrote: a module of Go, or a script of the dashboard.
type part struct {
	name, version string
	purl          string   // package URL
	license       string   // an SPDX expression
	texts         []string // of licences and notices
}

// systems are those whose programs the notices are for.
var systems = []string{"linux", "darwin", "windows"}

// goLibrary is the name of Go's standard library.
const goLibrary = "std"

// allParts returns all parts, by name.
func allParts() ([]part, error) {
	parts, err := modules()
	if err != nil {
		return nil, err
	}
	folders, err := filepath.Glob(root + "/web/static/vendor/*")
	if err != nil {
		return nil, err
	}
	for _, folder := range append(folders, root+"/api/docs") {
		p, err := script(folder)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.name, b.name) })
	return parts, nil
}

// modules are those of which anything is in the program on any of the systems.
func modules() ([]part, error) {
	folders := map[string]string{}
	for _, system := range systems {
		list := exec.Command("go", "list", "-deps", "-f",
			"{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/plannerd")
		list.Dir, list.Stderr = root, os.Stderr
		list.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
		out, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("listing the modules for %s: %w", system, err)
		}
		for line := range strings.Lines(string(out)) {
			module, folder, _ := strings.Cut(strings.TrimSpace(line), "\t")
			folders[module] = folder
		}
	}
	maps.DeleteFunc(folders, func(module, _ string) bool {
		return module == "" || ours(module) // packages of the standard library are of no module
	})
	var parts []part
	for module, folder := range folders {
		name, version, _ := strings.Cut(module, " ")
		p, err := newPart(part{name: name, version: version, purl: "pkg:golang/" + name + "@" + version}, folder)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	// Its version is that of the compiler, which differs from machine to machine.
	return append(parts, part{name: goLibrary, license: "BSD-3-Clause", texts: goTexts(parts)}), nil
}

// goTexts is the licence of Go, which the modules of its authors have, too.
func goTexts(parts []part) []string {
	i := slices.IndexFunc(parts, func(p part) bool { return p.name == "golang.org/x/sync" })
	if i < 0 {
		return nil
	}
	return parts[i].texts[:1]
}

// ours reports whether a module is nested in this repository.
func ours(module string) bool { return strings.HasPrefix(module, "plannerd/") }

var versionNumber = regexp.MustCompile(`\d+\.\d+\.\d+\S*\b`)

// script is what a folder has of others' JavaScript; its file VERSION says which.
func script(folder string) (part, error) {
	text, err := os.ReadFile(folder + "/VERSION")
	if err != nil {
		return part{}, err
	}
	name, version := filepath.Base(folder), versionNumber.FindString(string(text))
	if name == "docs" {
		name = "swagger-ui-dist"
	}
	if version == "" {
		return part{}, fmt.Errorf("%s/VERSION names no version", folder)
	}
	return newPart(part{name: name, version: version, purl: "pkg:npm/" + name + "@" + version}, folder)
}

// newPart completes a part by the licences and notices in its folder.
func newPart(p part, folder string) (part, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return p, err
	}
	var ids []string
	for _, e := range entries {
		upper := strings.ToUpper(e.Name())
		if e.IsDir() || !strings.Contains(upper, "LICEN") && !strings.HasPrefix(upper, "COPYING") &&
			!strings.HasPrefix(upper, "NOTICE") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return p, err
		}
		clean := strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n"))
		p.texts, ids = append(p.texts, clean), append(ids, licensesOf(clean)...)
	}
	slices.Sort(ids)
	p.license = strings.Join(slices.Compact(ids), " AND ")
	if p.license == "" {
		return p, fmt.Errorf("%s %s: no licence that is known is in %s", p.name, p.version, folder)
	}
	return p, nil
}

// licenses are told by what they say.
var licenses = []struct {
	id      string
	phrases []string
}{
	{"Apache-2.0", []string{"Apache License", "Version 2.0"}},
	{"BSD-3-Clause", []string{"Redistribution and use in source and binary forms", "endorse or promote"}},
	{"BSD-2-Clause", []string{"Redistribution and use in source and binary forms"}},
	{"ISC", []string{"Permission to use, copy, modify, and", "distribute this software for any purpose"}},
	{"MIT", []string{"Permission is hereby granted, free of charge", "shall be included in"}},
	{"MPL-2.0", []string{"Mozilla Public License", "2.0"}},
}

// licensesOf are the SPDX identifiers of the licences in a text: a part may have been
// made of others.
func licensesOf(text string) (ids []string) {
	words := strings.Join(strings.Fields(text), " ")
	for _, l := range licenses {
		missing := slices.ContainsFunc(l.phrases, func(s string) bool { return !strings.Contains(words, s) })
		if !missing && !(l.id == "BSD-2-Clause" && slices.Contains(ids, "BSD-3-Clause")) {
			ids = append(ids, l.id)
		}
	}
	return ids
}
