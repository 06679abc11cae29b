package boot

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/textproto"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// part is a piece of user-data that cloud-init runs.
type part struct {
	kind partKind
	text string
}

// partKind says when and how a part is run.
type partKind int

const (
	configPart partKind = iota
	scriptPart
	hookPart // a script that runs before everything else
)

// maxUnpacked limits the size of unpacked user-data.
const maxUnpacked = 64 << 20

// gzipMagic is the start of gzip data.
var gzipMagic = []byte{0x1f, 0x8b}

// readParts splits user-data as cloud-init does: by its first line, and MIME multi-parts
// and archives part by part, compressed or not. It ignores parts that are neither a
// cloud-config nor a script.
func readParts(data []byte) ([]part, error) {
	if bytes.HasPrefix(data, gzipMagic) {
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		if data, err = io.ReadAll(io.LimitReader(r, maxUnpacked)); err != nil {
			return nil, err
		}
	}
	text := withoutTemplate(string(data))
	first, _, _ := strings.Cut(text, "\n")
	switch first = strings.TrimSpace(first); {
	case strings.HasPrefix(first, "#cloud-config-archive"):
		return readArchive(text)
	case strings.HasPrefix(first, "#cloud-config"):
		return []part{{configPart, text}}, nil
	case strings.HasPrefix(first, "#cloud-boothook"):
		return []part{{hookPart, text}}, nil
	case strings.HasPrefix(first, "#!"):
		return []part{{scriptPart, text}}, nil
	case isMIME(first):
		return readMIME(data)
	}
	return nil, nil
}

// withoutTemplate drops the line that announces a jinja template. The template itself is
// not filled in.
func withoutTemplate(text string) string {
	text = strings.TrimLeft(text, "\ufeff\r\n")
	if strings.HasPrefix(text, "## template:") {
		_, text, _ = strings.Cut(text, "\n")
	}
	return text
}

func isMIME(line string) bool {
	line = strings.ToLower(line)
	return strings.HasPrefix(line, "content-type:") || strings.HasPrefix(line, "mime-version:")
}

// readMIME reads a message with its headers.
func readMIME(data []byte) ([]part, error) {
	data = bytes.TrimLeft(data, "\r\n")
	head, body, found := bytes.Cut(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), []byte("\n\n"))
	if !found {
		return nil, errors.New("MIME headers without a body")
	}
	header := textproto.MIMEHeader{}
	unfolded := strings.NewReplacer("\n ", " ", "\n\t", " ").Replace(string(head))
	for line := range strings.SplitSeq(unfolded, "\n") {
		name, value, _ := strings.Cut(line, ":")
		header.Set(name, strings.TrimSpace(value))
	}
	return readEntity(header, body)
}

// readEntity reads a part of a message, or several.
func readEntity(header textproto.MIMEHeader, body []byte) ([]part, error) {
	kind, params, err := mime.ParseMediaType(cmp.Or(header.Get("Content-Type"), "text/plain"))
	if err != nil {
		return nil, fmt.Errorf("content type %q: %w", header.Get("Content-Type"), err)
	}
	if strings.HasPrefix(kind, "multipart/") {
		return readMultipart(body, params["boundary"])
	}
	if body, err = decodeTransfer(header.Get("Content-Transfer-Encoding"), body); err != nil {
		return nil, err
	}
	text := withoutTemplate(string(body))
	switch {
	case bytes.HasPrefix(body, gzipMagic) || kind == "text/plain" || kind == "text/jinja2":
		return readParts(body)
	case kind == "text/cloud-config":
		return []part{{configPart, text}}, nil
	case kind == "text/cloud-boothook":
		return []part{{hookPart, text}}, nil
	case kind == "text/cloud-config-archive":
		return readArchive(text)
	case strings.HasPrefix(kind, "text/x-shellscript"):
		return []part{{scriptPart, text}}, nil
	}
	return nil, nil
}

func readMultipart(body []byte, boundary string) (parts []part, err error) {
	r := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		p, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return parts, nil
		}
		if err != nil {
			return parts, err
		}
		inner, err := io.ReadAll(p)
		if err != nil {
			return parts, err
		}
		more, err := readEntity(p.Header, inner)
		if err != nil {
			return parts, err
		}
		parts = append(parts, more...)
	}
}

func decodeTransfer(encoding string, body []byte) ([]byte, error) {
	switch strings.ToLower(encoding) {
	case "base64":
		return base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(body)), ""))
	case "quoted-printable":
		return io.ReadAll(quotedprintable.NewReader(bytes.NewReader(body)))
	}
	return body, nil
}

// readArchive reads a #cloud-config-archive: a list of parts in YAML.
func readArchive(text string) (parts []part, err error) {
	var items []struct {
		Type    string `yaml:"type"`
		Content string `yaml:"content"`
	}
	if err := yaml.Unmarshal([]byte(text), &items); err != nil {
		return nil, err
	}
	for _, item := range items {
		more, err := readEntity(textproto.MIMEHeader{"Content-Type": {cmp.Or(item.Type, "text/plain")}}, []byte(item.Content))
		if err != nil {
			return parts, err
		}
		parts = append(parts, more...)
	}
	return parts, nil
}

// TurnsSwapOff tells whether a part of the user-data turns swap off.
func TurnsSwapOff(userData []byte) bool {
	parts, _ := readParts(userData)
	return slices.ContainsFunc(parts, func(p part) bool { return strings.Contains(p.text, "swapoff -a") })
}
