package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const contract = `openapi: 3.0.3
info: {title: test, version: "1"}
paths:
  /v1/things/{name}:
    parameters:
      - {name: name, in: path, required: true, schema: {$ref: "#/components/schemas/Name"}}
    get:
      operationId: getThing
      summary: Get a thing.
      parameters:
        - {name: from, in: query, required: true, schema: {type: integer}}
        - {name: wait, in: query, schema: {type: string}}
        - {name: levels, in: query, schema: {type: array, items: {$ref: "#/components/schemas/Level"}}}
        - {name: limits, in: query, schema: {type: array, items: {type: string}}}
        - {name: If-None-Match, in: header, schema: {type: string}}
      responses:
        "200": {description: It., content: {application/json: {schema: {$ref: "#/components/schemas/Thing"}}}}
    put:
      operationId: putThingXYZ
      summary: Store a thing
      parameters:
        - {name: Idempotency-Key, in: header, schema: {type: string}}
      requestBody:
        content:
          application/json: {schema: {$ref: "#/components/schemas/Thing"}}
          application/x-ndjson: {schema: {type: string}}
          text/csv: {schema: {type: string}}
      responses:
        "204": {description: Stored.}
  /metrics:
    get:
      operationId: metrics
      summary: Figures
      responses:
        "200": {description: Text., content: {text/plain: {schema: {type: string}}}}
components:
  schemas:
    Name: {type: string}
    Level: {type: string, enum: [low, high]}
    Link:
      type: object
      nullable: true
      required: [from]
      properties: {from: {$ref: "#/components/schemas/Name"}}
    Thing:
      type: object
      required: [name, links, of]
      properties:
        name: {allOf: [{$ref: "#/components/schemas/Name"}], description: Its.}
        links: {type: array, items: {$ref: "#/components/schemas/Link"}}
        of: {oneOf: [{type: integer, nullable: true}, {$ref: "#/components/schemas/Thing"}]}
        epochs: {type: object, additionalProperties: {type: number}}
        any: {}
`

func TestGenerate(t *testing.T) {
	folder := t.TempDir()
	document := filepath.Join(folder, "openapi.yaml")
	const byHand = "package client\n\ntype GetThingOptions struct{}\n\nfunc (c *Client) Metrics() {}\n"
	if err := os.WriteFile(filepath.Join(folder, "byhand.go"), []byte(byHand), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(document, []byte(contract), 0o644); err != nil {
		t.Fatal(err)
	}
	if code := run([]string{document, folder, folder}, os.Stderr); code != 0 {
		t.Fatal(code)
	}
	for name, parts := range map[string][]string{
		"wire.py": {
			"\nLevel: TypeAlias = 'Literal[\"low\", \"high\"]'\n",
			"\nLink = TypedDict(\n    'Link',\n    {\n        'from': 'Name',\n    },\n)\n",
			"\nclass Thing(TypedDict):\n    any: NotRequired[Any]\n    epochs: NotRequired[dict[str, float]]\n" +
				"    links: list[Link | None]\n    name: Name\n    of: int | None | Thing\n",
			"\nclass GetThingParameters(Call, total=False):\n    from_: Required[int]\n    wait: str | float\n" +
				"    levels: Sequence[Level]\n    limits: Sequence[str | float | None]\n    if_none_match: str\n",
			"\nclass MetricsParameters(Call, total=False):\n    pass\n",
		},
		"operations.py": {
			"    def get_thing(\n        self,\n        name: str,\n        **parameters: Unpack[wire.GetThingParameters],\n" +
				"    ) -> wire.Thing:\n        \"\"\"Get a thing.\"\"\"\n" +
				"        return self._json(\"GET\", [\"v1\", \"things\", name], parameters)\n",
			"    def put_thing_xyz(\n        self,\n        name: str,\n        request: wire.Thing | Rows | None = None,\n",
			"        self._bytes(\n            \"PUT\", [\"v1\", \"things\", name], parameters, request,\n" +
				"            media=[\"application/json\", \"application/x-ndjson\"], keyed=True\n        )\n",
			"    ) -> bytes:\n        \"\"\"Figures.\"\"\"\n        return self._bytes(\"GET\", [\"metrics\"], parameters)\n",
		},
		generated: {
			"import (\n\t\"context\"\n\t\"strconv\"\n\n\t\"plannerd/sdk/go/wire\"\n)\n\n" +
				"// GetThing: Get a thing.\n//\n// It calls GET /v1/things/{name}.\nfunc (c *Client) GetThing(\n" +
				"\tctx context.Context, name string, with GetThingOptions, options ...Option,\n) (*wire.Thing, error) {\n" +
				"\treturn call[wire.Thing](ctx, c, request{\n" +
				"\t\tmethod: \"GET\", path: []string{\"v1\", \"things\", name}, query: with,\n\t}, options)\n}\n",
			"func (c *Client) PutThingXYZ(ctx context.Context, name string, content wire.Thing, options ...Option) " +
				"error {\n\t_, err := c.text(ctx, request{\n\t\tmethod: \"PUT\", path: []string{\"v1\", \"things\", name}, " +
				"send: jsonBody(\"application/json\", content), keyed: true,\n\t}, options)\n\treturn err\n}\n",
		},
	} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s lacks\n%s\nin\n%s", name, part, text)
			}
		}
		if name == generated && strings.Contains(string(text), "Metrics") {
			t.Errorf("a method by hand is written again: %s", text)
		}
	}
}

func TestRefused(t *testing.T) {
	folder := t.TempDir()
	document := filepath.Join(folder, "openapi.yaml")
	several := strings.Replace(contract, "Name: {type: string}",
		`Name: {allOf: [{$ref: "#/components/schemas/Level"}, {type: string}]}`, 1)
	if err := os.WriteFile(document, []byte(several), 0o644); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	code := run([]string{document, folder, folder}, &said)
	if code != 1 || !strings.Contains(said.String(), "several others") {
		t.Errorf("%d %s", code, said.String())
	}
	if code = run(nil, &said); code != 2 {
		t.Error(code)
	}
}
