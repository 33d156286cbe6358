// Thirdparty tells what plannerd is made of that others wrote: the notices that have to
// go with it, and the bill of materials of a program.
//
//	go -C tools run ./thirdparty notices                 writes THIRD_PARTY_NOTICES.txt
//	go -C tools run ./thirdparty sbom PROGRAM VERSION    prints CycloneDX, as JSON
//
// Both are the same for the same sources. They need the modules, but no network.
package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"
)

// root is the project as seen from the folder of this module, where the tool runs.
const root = ".."

func main() {
	log.SetFlags(0)
	if err := run(os.Args[1:]); err != nil {
		log.Fatal("thirdparty: ", err)
	}
}

func run(args []string) error {
	parts, err := allParts()
	switch {
	case err != nil:
		return err
	case len(args) == 1 && args[0] == "notices":
		return os.WriteFile(root+"/THIRD_PARTY_NOTICES.txt", notices(parts), 0o644)
	case len(args) == 3 && args[0] == "sbom":
		return writeBOM(os.Stdout, args[1], args[2], parts)
	}
	return fmt.Errorf("say notices, or sbom, a program and its version, not %q", args)
}

// notices lists the parts, and the texts of their licences, each once.
func notices(parts []part) []byte {
	var out bytes.Buffer
	out.WriteString("plannerd contains software that others wrote. It is listed here, with the licences that it comes\n" +
		"under. This file is generated: go generate .\n\n")
	owners := map[string][]string{}
	var texts []string
	for _, p := range parts {
		name := p.name
		if name == goLibrary {
			name = "the standard library of Go"
		}
		fmt.Fprintf(&out, "%s (%s)\n", strings.TrimSpace(name+" "+p.version), p.license)
		for _, text := range p.texts {
			if owners[text] == nil {
				texts = append(texts, text)
			}
			if of := owners[text]; !slices.Contains(of, p.name) {
				owners[text] = append(of, p.name)
			}
		}
	}
	for _, text := range texts {
		fmt.Fprintf(&out, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(owners[text], "\n"), text)
	}
	return out.Bytes()
}
