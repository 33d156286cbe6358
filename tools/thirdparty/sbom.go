package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// writeBOM writes the bill of materials of a program: the modules that were built into it
// and the scripts that it serves.
func writeBOM(w io.Writer, program, version string, parts []part) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	bom, err := newBOM(info, version, parts)
	if err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	return cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
}

func newBOM(info *debug.BuildInfo, version string, parts []part) (*cyclonedx.BOM, error) {
	self := "pkg:golang/" + info.Main.Path + "@" + version
	var components []cyclonedx.Component
	built := map[string]string{goLibrary: ""} // names of modules, with their sums
	for _, m := range info.Deps {
		if !ours(m.Path) {
			built[m.Path] = m.Sum
		}
	}
	for _, p := range parts {
		sum, ok := built[p.name]
		if !ok && strings.HasPrefix(p.purl, "pkg:golang/") {
			continue // for another system
		}
		delete(built, p.name)
		if p.name == goLibrary {
			p.version = strings.TrimPrefix(info.GoVersion, "go")
			p.purl = "pkg:golang/" + goLibrary + "@" + p.version
		}
		c, err := component(p, sum)
		if err != nil {
			return nil, err
		}
		components = append(components, c)
	}
	if len(built) > 0 {
		return nil, fmt.Errorf("nothing is known of the modules %v", built)
	}
	needs := make([]string, len(components))
	for i, c := range components {
		needs[i] = c.BOMRef
	}
	bom := cyclonedx.NewBOM()
	bom.SerialNumber = serial(self, needs)
	bom.Metadata = &cyclonedx.Metadata{Component: &cyclonedx.Component{
		BOMRef: self, Type: cyclonedx.ComponentTypeApplication, Name: "plannerd", Version: version, PackageURL: self,
	}}
	bom.Components, bom.Dependencies = &components, &[]cyclonedx.Dependency{{Ref: self, Dependencies: &needs}}
	return bom, nil
}

// component describes a part; sum is what go.sum has of it, empty if nothing.
func component(p part, sum string) (cyclonedx.Component, error) {
	c := cyclonedx.Component{
		BOMRef: p.purl, Type: cyclonedx.ComponentTypeLibrary, Name: p.name, Version: p.version, PackageURL: p.purl,
		Licenses: licensesIn(p.license),
	}
	if digest, ok := strings.CutPrefix(sum, "h1:"); ok {
		bytes, err := base64.StdEncoding.DecodeString(digest)
		if err != nil {
			return c, fmt.Errorf("the sum of %s: %w", p.name, err)
		}
		c.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(bytes)}}
	}
	return c, nil
}

// licensesIn describes one licence or an expression of several.
func licensesIn(expression string) *cyclonedx.Licenses {
	if strings.Contains(expression, " ") {
		return &cyclonedx.Licenses{{Expression: expression}}
	}
	return &cyclonedx.Licenses{{License: &cyclonedx.License{ID: expression}}}
}

// serial is a UUID (version 8, RFC 9562) of what the bill names.
func serial(self string, needs []string) string {
	sum := sha256.Sum256([]byte(strings.Join(append(slices.Clone(needs), self), "\n")))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
