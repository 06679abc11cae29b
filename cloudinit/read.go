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

// maxUnpackedBytes bounds unpacked user-data. It is far above what MAAS ever gets, and far
// below what harms the reader.
const maxUnpackedBytes = 16 << 20

const mimeHint = "write it with cloud-init devel make-mime"

// maxMultipartDepth is how deep multi-parts may be nested.
const maxMultipartDepth = 8

// readParts splits user-data of any kind into parts, as cloud-init does.
func readParts(from int, data []byte) ([]part, error) {
	whole := part{document: from}
	data, err := unzip(data)
	if err != nil {
		return nil, whole.mergeError(err.Error(), "give it as it is, without gzip")
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	whole.body, whole.kind = data, detectKind(data)
	if whole.kind != "" || !isMIME(data) {
		return singlePart(whole)
	}
	message, err := mail.ReadMessage(bytes.NewReader(data))
	if err != nil {
		return nil, whole.mergeError("it begins like a MIME message, but its header is malformed", mimeHint)
	}
	r := mimeReader{document: from}
	if err := r.readPart(textproto.MIMEHeader(message.Header), message.Body, 0); err != nil {
		return nil, err
	}
	return r.parts, nil
}

// isMIME recognizes a MIME message as cloud-init does.
func isMIME(data []byte) bool {
	return bytes.Contains(bytes.ToLower(data[:min(len(data), 4096)]), []byte("mime-version:"))
}

// CanRun reports whether cloud-init runs user-data, as far as its beginning shows. Other
// user-data, such as the configuration of Talos, may be for another program of the image.
func CanRun(data []byte) bool {
	if plain, err := unzip(data); err == nil {
		data = plain
	}
	return detectKind(data) != "" || isMIME(data)
}

// singlePart returns a part alone, if cloud-init runs it.
func singlePart(p part) ([]part, error) {
	if p.kind == "" {
		return nil, p.mergeError(unknownKindMessage(p.body), "begin it with #cloud-config, #!, or another word that cloud-init knows")
	}
	if !utf8.Valid(p.body) {
		return nil, p.mergeError("it is not UTF-8 text", "give it as text; you can compress only the whole")
	}
	return []part{p}, nil
}

// unknownKindMessage says what the text seems to be.
func unknownKindMessage(body []byte) string {
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) == nil {
		if _, ok := object["ignition"]; ok {
			return "this is Ignition, which cloud-init does not run"
		}
		return "this is JSON without the line #cloud-config before it"
	}
	if decoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(body)), "")); err == nil {
		if plain, err := unzip(decoded); err == nil && (isMIME(plain) || detectKind(plain) != "") {
			return "this is base64; it has to be decoded first"
		}
	}
	return "cloud-init would ignore this: its first words do not say what it is"
}

// unzip returns the data, unpacked if it is gzip.
func unzip(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data, nil
	}
	zipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, errors.New("it begins like gzip, but is not gzip")
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

// mimeReader collects the parts of a MIME message.
type mimeReader struct {
	document int
	parts    []part
}

func (r *mimeReader) readPart(header textproto.MIMEHeader, body io.Reader, depth int) error {
	p := part{document: r.document, label: strconv.Itoa(len(r.parts) + 1), headers: map[string]string{}}
	kind, parameters, err := mime.ParseMediaType(valueOr(header.Get("Content-Type"), "text/plain"))
	if err != nil {
		return p.mergeError("its Content-Type cannot be read", mimeHint)
	}
	if strings.HasPrefix(kind, "multipart/") {
		return r.readMultipart(p, multipart.NewReader(body, parameters["boundary"]), depth)
	}
	if _, disposition, err := mime.ParseMediaType(header.Get("Content-Disposition")); err == nil {
		p.name = disposition["filename"]
		if labelPattern.MatchString(p.name) {
			p.label = p.name
		}
	}
	for _, name := range carriedHeaders {
		if value := header.Get(name); value != "" {
			p.headers[name] = value
		}
	}
	if p.body, err = decodeTransfer(header.Get("Content-Transfer-Encoding"), body); err != nil {
		return p.mergeError("it cannot be decoded: "+decodeErrorMessage(err), mimeHint)
	}
	return r.addPart(p, kind)
}

func (r *mimeReader) readMultipart(p part, parts *multipart.Reader, depth int) error {
	if depth >= maxMultipartDepth {
		return p.mergeError(fmt.Sprintf("multi-parts are nested more than %d deep", maxMultipartDepth), "")
	}
	for {
		next, err := parts.NextRawPart()
		if err == io.EOF { // itself; wrapped, it is a multi-part cut short
			return nil
		}
		if err != nil {
			return p.mergeError("the multi-part cannot be read: it is cut short, or a boundary or a part's header is malformed", mimeHint)
		}
		if err := r.readPart(next.Header, next, depth+1); err != nil {
			return err
		}
	}
}

// addPart adds a part that is no container. As cloud-init does, it looks into plain,
// compressed and script parts for their real kind.
func (r *mimeReader) addPart(p part, kind string) error {
	zipped := strings.Contains(kind, "zip") || strings.Contains(kind, "compress")
	if zipped {
		plain, err := unzip(p.body)
		if err != nil {
			return p.mergeError(err.Error(), "give it as it is, without gzip")
		}
		p.body = plain
	}
	p.kind = kind
	if zipped || kind == "text/plain" || kind == "text/x-not-multipart" {
		p.kind = detectKind(p.body)
	} else if kind == kindScript {
		p.kind = valueOr(detectKind(p.body), kindScript)
	}
	if len(bytes.TrimSpace(p.body)) == 0 {
		return nil
	}
	parts, err := singlePart(p)
	r.parts = append(r.parts, parts...)
	return err
}

// decodeTransfer removes the transfer encoding.
func decodeTransfer(encoding string, body io.Reader) ([]byte, error) {
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

// decodeErrorMessage says what is wrong with an encoding. It does not use the decoders'
// texts, because they quote what they read.
func decodeErrorMessage(err error) string {
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

// isKnownKind reports whether cloud-init itself runs such a part.
func isKnownKind(kind string) bool {
	return slices.Contains(headerOnlyKinds, kind) ||
		slices.ContainsFunc(kindPrefixes, func(b struct{ prefix, kind string }) bool { return b.kind == kind })
}
