package cloudinit

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	yaml "gopkg.in/yaml.v2"
)

// keys are the top-level keys of the cloud-config in a part, in order; none
// for other kinds. A template is not YAML before it is rendered: its keys are
// the words at the beginning of lines.
func (p part) keys() ([]string, error) {
	switch p.kind {
	case kindConfig:
		return configKeys(p, p.body)
	case kindArchive:
		return archiveKeys(p)
	case kindJinja:
		return scannedKeys(p.body), nil
	default:
		return nil, nil
	}
}

func configKeys(p part, body []byte) ([]string, error) {
	var config yaml.MapSlice
	if err := yaml.Unmarshal(body, &config); err != nil {
		return nil, p.faultYAML(err, "cloud-init would ignore all of it; correct it")
	}
	var found []string
	for _, item := range config {
		if key, ok := item.Key.(string); ok {
			found = append(found, key)
		}
	}
	return found, nil
}

// archiveKeys are those of all cloud-configs in a #cloud-config-archive, whose
// entries are texts, or maps with a text and perhaps a type.
func archiveKeys(p part) ([]string, error) {
	var entries []any
	if err := yaml.Unmarshal(p.body, &entries); err != nil {
		return nil, p.faultYAML(err, "an archive is a list of texts, or of maps with content and type")
	}
	var found []string
	for i, entry := range entries {
		text, _ := entry.(string)
		kind := ""
		if fields, ok := entry.(map[any]any); ok {
			text, _ = fields["content"].(string)
			kind, _ = fields["type"].(string)
		}
		inner := part{kind: or(kind, or(sniff([]byte(text)), kindConfig)), body: []byte(text), from: p.from, label: p.label, entry: i + 1}
		if inner.kind == kindArchive {
			return nil, p.fault("an archive stands in an archive", "write its entries into one list")
		}
		keys, err := inner.keys()
		if err != nil {
			return nil, err
		}
		found = append(found, keys...)
	}
	return found, nil
}

// yamlLine is the line number before a text of the YAML reader. Nothing that it
// quotes can stand there.
var yamlLine = regexp.MustCompile(`^(?:yaml: )?line ([0-9]+): `)

// faultYAML is a MergeError about what the YAML reader refused: not in its
// words, which quote what it read.
func (p part) faultYAML(err error, hint string) *MergeError {
	what, text := "its YAML", err.Error()
	if p.entry > 0 {
		what = fmt.Sprintf("the YAML of its entry %d", p.entry)
	}
	message := what + " cannot be read"
	wrong := (*yaml.TypeError)(nil)
	if errors.As(err, &wrong) {
		text = wrong.Errors[0]
		message += ": a value is not of the kind that belongs there"
	}
	if at := yamlLine.FindStringSubmatch(text); at != nil {
		message += ", near line " + at[1]
	}
	return p.fault(message, hint)
}

var keyLine = regexp.MustCompile(`(?m)^["']?([A-Za-z_][A-Za-z0-9_-]*)["']?[ \t]*:`)

func scannedKeys(body []byte) []string {
	var found []string
	for _, match := range keyLine.FindAllSubmatch(body, -1) {
		found = append(found, string(match[1]))
	}
	return found
}

// saysHowToMerge tells whether the part says how it is put together with
// those before it; cloud-init's rule without that is that the last one wins.
func (p part) saysHowToMerge(keys []string) bool {
	return p.headers["Merge-Type"] != "" || p.headers["X-Merge-Type"] != "" ||
		slices.Contains(keys, "merge_how") || slices.Contains(keys, "merge_type")
}
