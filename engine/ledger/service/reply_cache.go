package service

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine/ledger/wire"
)

// Limits of the cache of answered calls. A client sends a call again for half a minute at most.
const (
	replyRetention = 5 * time.Minute
	maxReplies     = 20_000
)

// replyCache keeps the answers to the latest writes, by client and id.
type replyCache struct {
	mu     sync.Mutex
	byCall map[string]*reply
	oldest []*reply
}

// reply is the answer to a write. While the write runs, done is open.
type reply struct {
	id       string
	callHash [sha256.Size]byte // of the operation and its call
	begun    time.Time

	done   chan struct{} // closed when there is an answer
	answer wire.Answer
	isKept bool // resends get the same answer
}

// answerOnce does a call once, and returns the same answer each time. A resend
// during the call waits for its answer. An id that was used for another call is
// an error.
func (r *replyCache) answerOnce(ctx context.Context, id, call string, do func() wire.Answer) (answer wire.Answer, resent bool) {
	about := sha256.Sum256([]byte(call))
	for {
		mine, first := r.findOrAddReply(id, about)
		switch {
		case first:
			return r.makeAnswer(mine, do), resent
		case mine.callHash != about:
			return errorAnswer(invalidCallError("the id of this write was used for another one")), true
		}
		resent = true
		select {
		case <-ctx.Done():
			return errorAnswer(ctx.Err()), resent
		case <-mine.done:
			if mine.isKept {
				return mine.answer, resent
			}
		}
	}
}

// makeAnswer does the call. If it panics, there is no answer, and the call may be sent again.
func (r *replyCache) makeAnswer(mine *reply, do func() wire.Answer) wire.Answer {
	mine.answer = errorAnswer(wire.ErrShuttingDown)
	defer r.finishReply(mine)
	mine.answer = do()
	return mine.answer
}

// findOrAddReply returns the reply of a call. The second result is true if the caller must do
// the call.
func (r *replyCache) findOrAddReply(id string, about [sha256.Size]byte) (mine *reply, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if have := r.byCall[id]; have != nil {
		return have, false
	}
	now := time.Now()
	for len(r.oldest) > 0 && (len(r.oldest) >= maxReplies || now.Sub(r.oldest[0].begun) > replyRetention) {
		if old := r.oldest[0]; r.byCall[old.id] == old {
			delete(r.byCall, old.id)
		}
		r.oldest = r.oldest[1:]
	}
	mine = &reply{id: id, callHash: about, begun: now, done: make(chan struct{})}
	r.byCall[id] = mine
	r.oldest = append(r.oldest, mine)
	return mine, true
}

// finishReply gives the answer to all who wait. It does not keep the answer if nothing was done,
// for example because the caller's time was over.
func (r *replyCache) finishReply(mine *reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	mine.isKept = mine.answer.Error == nil || mine.answer.Error.IsFinal()
	if !mine.isKept && r.byCall[mine.id] == mine {
		delete(r.byCall, mine.id)
	}
	close(mine.done)
}
