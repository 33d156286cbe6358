package main

import (
	"bytes"
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

func TestMain(m *testing.M) {
	if err := os.Chdir(".."); err != nil { // where the tool runs
		panic(err)
	}
	os.Exit(m.Run())
}

// TestNotices: what is in the repository is what there is.
func TestNotices(t *testing.T) {
	parts, err := allParts()
	if err != nil {
		t.Fatal(err)
	}
	want := notices(parts)
	got, err := os.ReadFile(root + "/THIRD_PARTY_NOTICES.txt")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("THIRD_PARTY_NOTICES.txt is not current: go generate . (%v)", err)
	}
	for _, name := range []string{"preact 11", "echarts 6", "htm 3", "swagger-ui-dist 5", "modernc.org/sqlite v1"} {
		if !bytes.Contains(want, []byte("\n"+name)) {
			t.Errorf("%s is missing", name)
		}
	}
}

// TestBOM: every module of a program is in its bill of materials, with a licence, and the
// bill is the same each time.
func TestBOM(t *testing.T) {
	program := filepath.Join(t.TempDir(), "plannerd")
	build := exec.Command("go", "build", "-o", program, "./cmd/plannerd")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	parts, err := allParts()
	if err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	for _, w := range []*bytes.Buffer{&first, &second} {
		if err := writeBOM(w, program, "v1.2.3", parts); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the second bill differs from the first")
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(&second, cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(bom.SerialNumber, "urn:uuid:") || len(bom.SerialNumber) != len("urn:uuid:")+36 {
		t.Errorf("serial number %s", bom.SerialNumber)
	}
	if self := bom.Metadata.Component; self.PackageURL != "pkg:golang/plannerd@v1.2.3" || self.Version != "v1.2.3" {
		t.Errorf("it is of %+v", self)
	}
	info.Deps = slices.DeleteFunc(info.Deps, func(m *debug.Module) bool { return ours(m.Path) })
	const others = 5 // four scripts and the standard library
	if got, want := len(*bom.Components), len(info.Deps)+others; got != want {
		t.Errorf("%d components, want %d", got, want)
	}
	for _, c := range *bom.Components {
		if c.Version == "" || c.Licenses == nil || len(*c.Licenses) != 1 {
			t.Errorf("%+v", c)
		}
	}
	for _, m := range info.Deps {
		if !slices.ContainsFunc(*bom.Components, func(c cyclonedx.Component) bool {
			return c.PackageURL == "pkg:golang/"+m.Path+"@"+m.Version && len(*c.Hashes) == 1
		}) {
			t.Errorf("%s %s is missing", m.Path, m.Version)
		}
	}
	if _, err := newBOM(info, "v1.2.3", parts[2:]); err == nil {
		t.Error("a module of which nothing is known is left out")
	}
}

// TestUnknownLicense: what comes without a licence that is known does not go unnoticed.
func TestUnknownLicense(t *testing.T) {
	folder := t.TempDir()
	for text, want := range map[string]string{
		"All rights reserved.": "",
		"Permission is hereby granted, free of charge, … shall be included in\n all copies":                     "MIT",
		"Apache License\n  Version 2.0\nRedistribution and use in source\nand binary forms, endorse or promote": "Apache-2.0 AND BSD-3-Clause",
		"Redistribution and use in source and binary forms":                                                     "BSD-2-Clause",
	} {
		if err := os.WriteFile(folder+"/LICENSE.md", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := newPart(part{name: "x"}, folder)
		if p.license != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v", text, p.license, err)
		}
	}
}
