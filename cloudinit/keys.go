package cloudinit

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"

	yaml "gopkg.in/yaml.v2"
)

// topKey is a top-level key of a cloud-config, and its place.
type topKey struct {
	name  string
	entry int // entry of an archive, from 1; 0: not in an archive
	line  int // line in the part or the entry, from 1; 0: it begins no line
}

// locationSuffix returns the place of the key, as a suffix for its name.
func (k topKey) locationSuffix() string {
	switch {
	case k.entry > 0 && k.line > 0:
		return fmt.Sprintf(" (entry %d, line %d)", k.entry, k.line)
	case k.entry > 0:
		return fmt.Sprintf(" (entry %d)", k.entry)
	case k.line > 0:
		return fmt.Sprintf(" (line %d)", k.line)
	}
	return ""
}

// topKeys returns the top-level keys of the cloud-config in a part, in order. Other kinds
// have none. A template is not YAML until it is rendered, so its keys are the words at the
// beginning of lines.
func (p part) topKeys() ([]topKey, error) {
	switch p.kind {
	case kindConfig:
		return configKeys(p)
	case kindArchive:
		return archiveKeys(p)
	case kindJinja:
		return scannedKeys(p), nil
	default:
		return nil, nil
	}
}

func configKeys(p part) ([]topKey, error) {
	var config yaml.MapSlice
	if err := yaml.Unmarshal(p.body, &config); err != nil {
		return nil, p.yamlError(err, "cloud-init would ignore all of it; correct it")
	}
	written := scannedKeys(p)
	var found []topKey
	for _, item := range config {
		name, ok := item.Key.(string)
		if !ok {
			continue
		}
		key := topKey{name: name, entry: p.entry}
		if i := slices.IndexFunc(written, func(k topKey) bool { return k.name == name }); i >= 0 {
			key = written[i]
		}
		found = append(found, key)
	}
	return found, nil
}

// archiveKeys returns the keys of all cloud-configs in a #cloud-config-archive. Its entries
// are texts, or maps with a text and perhaps a type.
func archiveKeys(p part) ([]topKey, error) {
	var entries []any
	if err := yaml.Unmarshal(p.body, &entries); err != nil {
		return nil, p.yamlError(err, "an archive is a list of texts, or of maps with content and type")
	}
	var found []topKey
	for i, entry := range entries {
		text, _ := entry.(string)
		kind := ""
		if fields, ok := entry.(map[any]any); ok {
			text, _ = fields["content"].(string)
			kind, _ = fields["type"].(string)
		}
		inner := part{kind: valueOr(kind, valueOr(detectKind([]byte(text)), kindConfig)), body: []byte(text), document: p.document, label: p.label, entry: i + 1}
		if inner.kind == kindArchive {
			return nil, p.mergeError("an archive contains another archive", "write its entries into one list")
		}
		keys, err := inner.topKeys()
		if err != nil {
			return nil, err
		}
		found = append(found, keys...)
	}
	return found, nil
}

// yamlLinePattern matches the line number at the beginning of a YAML error. No quoted
// user-data can be there.
var yamlLinePattern = regexp.MustCompile(`^(?:yaml: )?line ([0-9]+): `)

// yamlError is a MergeError about unreadable YAML. It does not use the YAML reader's text,
// because that quotes what it read.
func (p part) yamlError(err error, hint string) *MergeError {
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
	if at := yamlLinePattern.FindStringSubmatch(text); at != nil {
		message += ", near line " + at[1]
	}
	return p.mergeError(message, hint)
}

var keyLinePattern = regexp.MustCompile(`(?m)^["']?([A-Za-z_][A-Za-z0-9_-]*)["']?[ \t]*:`)

// scannedKeys returns the words before a colon at the beginning of lines.
func scannedKeys(p part) []topKey {
	var found []topKey
	for _, at := range keyLinePattern.FindAllSubmatchIndex(p.body, -1) {
		line := 1 + bytes.Count(p.body[:at[0]], []byte("\n"))
		found = append(found, topKey{name: string(p.body[at[2]:at[3]]), entry: p.entry, line: line})
	}
	return found
}

// hasMergeRule reports whether the part says how cloud-init merges it with earlier parts.
// Without a rule the last part wins.
func (p part) hasMergeRule(keys []topKey) bool {
	return p.headers["Merge-Type"] != "" || p.headers["X-Merge-Type"] != "" || slices.ContainsFunc(keys, topKey.isMergeRule)
}

func (k topKey) isMergeRule() bool { return k.name == "merge_how" || k.name == "merge_type" }
