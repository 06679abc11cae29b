package cloudinit

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxUnpackedBytes is the most that compressed user-data may hold: far above
// what MAAS is ever given, far below what harms the reader.
const maxUnpackedBytes = 16 << 20

const mimeHint = "write it with cloud-init devel make-mime"

// maxDepth is how deep multi-parts may be nested.
const maxDepth = 8

// readParts takes user-data of any kind apart, as cloud-init will.
func readParts(from int, data []byte) ([]part, error) {
	whole := part{from: from}
	data, err := unpacked(data)
	if err != nil {
		return nil, whole.fault(err.Error(), "give it as it is, without gzip")
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	whole.body, whole.kind = data, sniff(data)
	if whole.kind != "" || !isMIME(data) {
		return one(whole)
	}
	message, err := mail.ReadMessage(bytes.NewReader(data))
	if err != nil {
		return nil, whole.fault("it begins like a MIME message, and its header is malformed", mimeHint)
	}
	r := reader{from: from}
	if err := r.read(textproto.MIMEHeader(message.Header), message.Body, 0); err != nil {
		return nil, err
	}
	return r.parts, nil
}

// isMIME knows a MIME message as cloud-init does.
func isMIME(data []byte) bool {
	return bytes.Contains(bytes.ToLower(data[:min(len(data), 4096)]), []byte("mime-version:"))
}

// Runs tells whether cloud-init runs user-data, as far as its beginning says. What it
// does not run, such as the configuration of Talos, may be for another program of the
// image.
func Runs(data []byte) bool {
	if plain, err := unpacked(data); err == nil {
		data = plain
	}
	return sniff(data) != "" || isMIME(data)
}

// one is a part by itself, if cloud-init runs it.
func one(p part) ([]part, error) {
	if p.kind == "" {
		return nil, p.fault(whyUnknown(p.body), "begin it with #cloud-config, #!, or another word that cloud-init knows")
	}
	if !utf8.Valid(p.body) {
		return nil, p.fault("it is not UTF-8 text", "give it as text; compress nothing but the whole")
	}
	return []part{p}, nil
}

// whyUnknown says what the text seems to be.
func whyUnknown(body []byte) string {
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) == nil {
		if _, ok := object["ignition"]; ok {
			return "this is Ignition, which cloud-init does not run"
		}
		return "this is JSON without the line #cloud-config before it"
	}
	if decoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(body)), "")); err == nil {
		if plain, err := unpacked(decoded); err == nil && (isMIME(plain) || sniff(plain) != "") {
			return "this is base64; it has to be decoded first"
		}
	}
	return "cloud-init would ignore this: it begins with no word that says what it is"
}

// unpacked is the data without gzip, if it was compressed.
func unpacked(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data, nil
	}
	zipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, errors.New("it begins like gzip and is none")
	}
	plain, err := io.ReadAll(io.LimitReader(zipped, maxUnpackedBytes+1))
	if err != nil {
		return nil, errors.New("its gzip is damaged")
	}
	if len(plain) > maxUnpackedBytes {
		return nil, fmt.Errorf("it unpacks to more than %d MiB", maxUnpackedBytes>>20)
	}
	return plain, nil
}

// reader walks through a MIME message.
type reader struct {
	from  int
	parts []part
}

func (r *reader) read(header textproto.MIMEHeader, body io.Reader, depth int) error {
	p := part{from: r.from, label: strconv.Itoa(len(r.parts) + 1), headers: map[string]string{}}
	kind, parameters, err := mime.ParseMediaType(or(header.Get("Content-Type"), "text/plain"))
	if err != nil {
		return p.fault("its Content-Type cannot be read", mimeHint)
	}
	if strings.HasPrefix(kind, "multipart/") {
		return r.walk(p, multipart.NewReader(body, parameters["boundary"]), depth)
	}
	if _, disposition, err := mime.ParseMediaType(header.Get("Content-Disposition")); err == nil {
		p.name = disposition["filename"]
		if labelForm.MatchString(p.name) {
			p.label = p.name
		}
	}
	for _, name := range carried {
		if value := header.Get(name); value != "" {
			p.headers[name] = value
		}
	}
	if p.body, err = decoded(header.Get("Content-Transfer-Encoding"), body); err != nil {
		return p.fault("it cannot be decoded: "+decodeProblem(err), mimeHint)
	}
	return r.add(p, kind)
}

func (r *reader) walk(p part, parts *multipart.Reader, depth int) error {
	if depth >= maxDepth {
		return p.fault(fmt.Sprintf("multi-parts are nested more than %d deep", maxDepth), "")
	}
	for {
		next, err := parts.NextRawPart()
		if err == io.EOF { // itself; wrapped, it is a multi-part cut short
			return nil
		}
		if err != nil {
			return p.fault("the multi-part cannot be read: it is cut short, or a boundary or a part's header is malformed", mimeHint)
		}
		if err := r.read(next.Header, next, depth+1); err != nil {
			return err
		}
	}
}

// add keeps a part that is no container. cloud-init looks into what is plain
// or compressed, and into scripts, for what it really is.
func (r *reader) add(p part, kind string) error {
	zipped := strings.Contains(kind, "zip") || strings.Contains(kind, "compress")
	if zipped {
		plain, err := unpacked(p.body)
		if err != nil {
			return p.fault(err.Error(), "give it as it is, without gzip")
		}
		p.body = plain
	}
	p.kind = kind
	if zipped || kind == "text/plain" || kind == "text/x-not-multipart" {
		p.kind = sniff(p.body)
	} else if kind == kindScript {
		p.kind = or(sniff(p.body), kindScript)
	}
	if len(bytes.TrimSpace(p.body)) == 0 {
		return nil
	}
	parts, err := one(p)
	r.parts = append(r.parts, parts...)
	return err
}

// decoded undoes the transfer encoding.
func decoded(encoding string, body io.Reader) ([]byte, error) {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "7bit", "8bit", "binary":
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	default:
		return nil, errUnknownEncoding
	}
	return io.ReadAll(body)
}

var errUnknownEncoding = errors.New("its Content-Transfer-Encoding is unknown; known are 7bit, 8bit, binary, base64 and quoted-printable")

// decodeProblem says what is wrong with an encoding. The decoders' own texts
// quote what they read.
func decodeProblem(err error) string {
	var at base64.CorruptInputError
	switch {
	case errors.Is(err, errUnknownEncoding):
		return err.Error()
	case errors.As(err, &at):
		return fmt.Sprintf("its base64 is damaged at byte %d", int64(at))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "it is cut short"
	}
	return "what it contains is not in its Content-Transfer-Encoding"
}

// isKnown tells whether cloud-init itself runs such a part.
func isKnown(kind string) bool {
	return slices.Contains(unsniffed, kind) ||
		slices.ContainsFunc(beginnings, func(b struct{ prefix, kind string }) bool { return b.kind == kind })
}
