package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
)

// create sends etcd's gRPC call KV.Txn: if the key's create_revision is 0, put
// the value. The call is written by hand, so that etcd's client does not become
// a dependency.
func (n *etcdNode) create(ctx context.Context, key, value string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, n.url+"/etcdserverpb.KV/Txn", bytes.NewReader(grpcFrame(createTxn(key, value))))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("TE", "trailers")
	response, err := n.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	// A call that fails before its answer has its status in the head.
	for _, head := range []http.Header{response.Header, response.Trailer} {
		if status := head.Get("Grpc-Status"); status != "" && status != "0" {
			return fmt.Errorf("etcd answers status %s: %s", status, head.Get("Grpc-Message"))
		}
	}
	if response.StatusCode != http.StatusOK || len(text) < grpcHeadLength || !hasTxnSucceeded(text[grpcHeadLength:]) {
		return fmt.Errorf("etcd has not put %s: %s, %q", key, response.Status, text)
	}
	return nil
}

// grpcHeadLength is the length of a gRPC message's head: a byte for
// compression, and the message's length.
const grpcHeadLength = 5

func grpcFrame(message []byte) []byte {
	head := make([]byte, grpcHeadLength, grpcHeadLength+len(message))
	binary.BigEndian.PutUint32(head[1:], uint32(len(message)))
	return append(head, message...)
}

// The fields of etcdserverpb (etcd api/etcdserverpb/rpc.proto): number<<3 | wire type.
const (
	txnCompare            = 1<<3 | 2
	txnSuccess            = 2<<3 | 2
	compareTarget         = 2 << 3
	compareKey            = 3<<3 | 2
	compareCreateRevision = 5 << 3
	targetCreate          = 1
	requestPut            = 2<<3 | 2
	putKey                = 1<<3 | 2
	putValue              = 2<<3 | 2
	responseHeader        = 1<<3 | 2
	responseSucceeded     = 2 << 3
)

// createTxn encodes a TxnRequest.
func createTxn(key, value string) []byte {
	compare := appendField(nil, compareKey, key)
	compare = append(compare, compareTarget, targetCreate, compareCreateRevision, 0)
	put := appendField(appendField(nil, putKey, key), putValue, value)
	return appendField(appendField(nil, txnCompare, string(compare)), txnSuccess, string(appendField(nil, requestPut, string(put))))
}

// appendField appends a field of type bytes to a message.
func appendField(to []byte, tag byte, value string) []byte {
	return append(binary.AppendUvarint(append(to, tag), uint64(len(value))), value...)
}

// hasTxnSucceeded reads from a TxnResponse whether the comparison held.
func hasTxnSucceeded(message []byte) bool {
	if len(message) > 0 && message[0] == responseHeader {
		length, n := binary.Uvarint(message[1:])
		if n <= 0 || uint64(len(message)) < 1+uint64(n)+length {
			return false
		}
		message = message[1+uint64(n)+length:]
	}
	return len(message) >= 2 && message[0] == responseSucceeded && message[1] == 1
}
