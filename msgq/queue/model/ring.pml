/* SPDX-License-Identifier: MIT
 *
 * Publishing, reading, overwriting, holding: RingWriter::extend and commit, RingReader::look, describe
 * and lease. A ring of LINES lines, an index of ENTRIES entries; messages of one or two lines. Each
 * shared access is a step of its own; a payload is written and read line by line. The last reader may
 * die anywhere, with what it holds, and another one take its slot, which begins anew.
 *
 * Claims: no line is written while a reader reads it (a data race), what a reader took for message n
 * is message n, and the publisher is held up only by readers that live and hold something. With
 * REVOKE the publisher is never held up, and what a reader took is message n unless it is told that
 * its lease was revoked.
 *
 * Faults to take out a part of the protocol, each of which must be found:
 *   NO_SECOND_LOOK   the publisher does not look at the leases again once it has moved `reserved`
 *   NO_CHECK         a reader does not look at `reserved` once it has its lease
 *   NO_BUSY_STAMP    an entry is not marked while its fields change
 *   NO_SECOND_STAMP  a reader does not look at the stamp again once it has the fields
 *   NO_LIVENESS      leases of the dead count
 *   CLEAR_DEAD       the publisher strikes out the lease of a reader that it has found dead, where it
 *                    is what it was: it may be another reader's by now
 *   NO_REVOKED_CHECK (with REVOKE) a reader does not ask whether its lease was revoked
 */
#define LINES 4
#define ENTRIES 2
#ifndef MESSAGES
#define MESSAGES 4
#endif
#ifndef READERS
#define READERS 1
#endif

byte line[LINES];                          /* holds a message's number */
bool written[LINES];                       /* is being written */
byte read[LINES];                          /* is being read by so many */
bool reads[LINES];                         /* by the last reader, which may die */
byte reserved, newest;
byte stamp[ENTRIES], position[ENTRIES], lines[ENTRIES];
byte lease_at[READERS], lease_lines[READERS];   /* one word */
bool lease_revoked[READERS];                    /* of the same word */
bool dead[READERS];                             /* the slot's lock is not held */
bool gone;                                      /* the last reader's first owner, for good */

/* The first lease in the way of [start, start + wanted): its distance and its end, from start. */
inline find_obstacle() {
  obstacle_begin = 0; obstacle_end = 0;
  i = 0;
  do
  :: i < READERS ->
     atomic {                              /* one load */
       if
       :: lease_revoked[i] -> held_lines = 0
       :: else -> held_at = lease_at[i]; held_lines = lease_lines[i]
       fi
     }
     if
     :: held_lines == 0
#ifndef NO_LIVENESS
     :: held_lines > 0 && dead[i] ->       /* one call to the kernel */
#ifdef CLEAR_DEAD
        atomic {
          if
          :: lease_at[i] == held_at && lease_lines[i] == held_lines -> lease_lines[i] = 0
          :: else
          fi
        }
#else
        skip
#endif
     :: held_lines > 0 && !dead[i] ->
#else
     :: held_lines > 0 ->
#endif
        atomic {                           /* local work */
          distance = (held_at + LINES - start % LINES) % LINES;
          end = distance + held_lines;
          if
          :: end > LINES -> distance = 0; end = end - LINES
          :: else
          fi;
          if
          :: distance < wanted &&
             (obstacle_end == 0 || distance < obstacle_begin ||
              (distance == obstacle_begin && end > obstacle_end)) ->
             obstacle_begin = distance; obstacle_end = end
          :: else
          fi
        }
     fi;
     atomic { i++; distance = 0; end = 0; held_at = 0; held_lines = 0 }
  :: else -> i = 0; break
  od
}

/* No room. Sets `start` anew where there may be some now. */
inline no_room() {
#ifdef REVOKE
  i = 0;
  do
  :: i < READERS ->
     atomic {
       if
       :: lease_lines[i] > 0 -> lease_revoked[i] = 1
       :: else
       fi
     }
     i++
  :: else -> break
  od;
  start = head
#else
  /* Tries again when a reader has let go or died. Where all are dead there must be room. */
  if
  :: dead[0] && dead[READERS - 1] -> assert(!retried); retried = 1
  :: else -> lease_lines[0] == 0 || dead[0]
  fi;
  start = head
#endif
}

inline write_lines() {
  i = 0;
  do
  :: i < wanted ->
     atomic {
       at = (head + i) % LINES;
#ifndef REVOKE
       assert(read[at] == 0);
#endif
       written[at] = 1
     }
     atomic { line[at] = number; written[at] = 0; i++; at = 0 }
  :: else -> i = 0; break
  od
}

inline write_entry() {
  at = number % ENTRIES;
#ifndef NO_BUSY_STAMP
  stamp[at] = 2 * number - 1;
#endif
  position[at] = head;
  lines[at] = wanted;
  stamp[at] = 2 * number;
  newest = number;
  at = 0
}

proctype publisher() {
  byte number = 1, head, start, wanted, obstacle_begin, obstacle_end, distance, end, i, at;
  byte held_at, held_lines;
  bool retried;
  do
  :: number > MESSAGES -> break
  :: else ->
     if
     :: wanted = 1
     :: wanted = 2
     fi;
     start = head;
     retried = 0;
     do
     :: start + wanted - head > LINES -> no_room()
     :: else ->
        find_obstacle();
        if
        :: obstacle_end != 0 -> start = start + obstacle_end
        :: else ->
           if
           :: start + wanted > reserved -> reserved = start + wanted
           :: else
           fi;
#ifndef NO_SECOND_LOOK
           find_obstacle();
#endif
           if
           :: obstacle_end == 0 -> head = start; break
           :: else
           fi
        fi
     od;
     write_lines();
     write_entry();
     atomic { head = head + wanted; number++; obstacle_begin = 0; obstacle_end = 0 }
  od
}

/* Reads message `next` line by line once it has a lease for it. */
inline read_lines() {
  i = 0; whole = 1;
  do
  :: i < count ->
     atomic {
       at = (where + i) % LINES;
#ifndef REVOKE
       assert(!written[at]);
#endif
       read[at]++; reads[at] = me == READERS - 1 || reads[at]
     }
     atomic {
       whole = whole && line[at] == next && !written[at];
       read[at]--; reads[at] = me != READERS - 1 && reads[at]; i++; at = 0
     }
  :: else -> break
  od;
#ifdef NO_REVOKED_CHECK
  assert(whole);
#else
  assert(whole || lease_revoked[me]);
#endif
  atomic { lease_lines[me] = 0; lease_revoked[me] = 0; i = 0 }
}

proctype reader(byte me) {
  byte next = 1, seen, where, count, i, at;
  bool whole;
  {
  do
  :: next > MESSAGES -> break
  :: next <= MESSAGES && stamp[next % ENTRIES] >= 2 * next ->
     seen = stamp[next % ENTRIES];
     if
     :: seen == 2 * next ->
        where = position[next % ENTRIES];
        count = lines[next % ENTRIES];
        if
#ifndef NO_SECOND_STAMP
        :: stamp[next % ENTRIES] != 2 * next
        :: stamp[next % ENTRIES] == 2 * next ->
#else
        :: true ->
#endif
           atomic { lease_at[me] = where % LINES; lease_lines[me] = count; lease_revoked[me] = 0 }
           if
#ifdef NO_CHECK
           :: true -> read_lines()
#else
           :: reserved > where + LINES -> atomic { lease_lines[me] = 0; lease_revoked[me] = 0 }
           :: else -> read_lines()
#endif
           fi
        fi
     :: else                                /* overwritten */
     fi;
     atomic { next++; seen = 0; where = 0; count = 0 }
  od
  } unless { dead[me] };
  gone = me == READERS - 1 || gone
}

/* Kills the last reader, at any time, in the middle of anything; what it was reading it reads no more.
 * Another one may claim its slot: locks it, then empties it. */
active proctype killer() {
  byte i;
  if
  :: atomic {
       dead[READERS - 1] = 1;
       i = 0;
       do
       :: i < LINES -> read[i] = read[i] - reads[i]; reads[i] = 0; i++
       :: else -> break
       od
     }
     if
     :: gone ->
        atomic { dead[READERS - 1] = 0; i = 0 }
        atomic { lease_lines[READERS - 1] = 0; lease_revoked[READERS - 1] = 0 }
        run reader(READERS - 1)
     :: skip
     fi
  :: skip
  fi
}

init {
  atomic {
    run publisher();
    run reader(0);
    if
    :: READERS > 1 -> run reader(1)
    :: else
    fi
  }
}
