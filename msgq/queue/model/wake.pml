/* SPDX-License-Identifier: MIT
 *
 * Sleeping and waking: RingWriter::wake_all, Subscriber::State::prepare_sleep, Poller::sleep_at_bell.
 * Reader 0 sleeps at the topic's wake word, reader 1 at a bell. Readers may die anywhere, and so may
 * the first publisher, which another one follows. Each shared access is a step of its own.
 *
 * Claim: no reader sleeps for ever once a message for it is there: no invalid end state.
 *
 * Faults to take out a part of the protocol, each of which must be found:
 *   NO_RECHECK       a reader does not look again after it has said that it will sleep
 *   NO_COMPARE       sleeping does not compare the word, as waiting for a signal doesn't
 *   WAKE_FIRST       the publisher reads the wake word before it counts the message
 *   BELL_LATE        the poller reads its bell after it has looked at the topics
 *   NO_HANDOVER      a publisher that follows one that died does not wake first
 *   HANDOVER_BY_FLAGS  it wakes only those whose flags are set: the one that died may have taken
 *                    the flags and not woken yet
 */
#ifndef MESSAGES
#define MESSAGES 2
#endif
#define READERS 2

byte stamped, newest;           /* the newest entry's stamp; Progress::newest */
byte counter;                   /* the wake word: */
bool sleepers, bells;           /*   its flags */
byte bell;                      /* the poller's word */
bool slot_has_bell;
bool asleep[READERS];           /* in the kernel's queue for a word */
bool dead_reader[READERS], dead_publisher;   /* the killer has been there */

inline wake_all() {
#ifndef WAKE_FIRST
  saw = sleepers || bells;
#endif
  if
  :: saw ->
     atomic { old_sleepers = sleepers; old_bells = bells; sleepers = 0; bells = 0; counter++ }
     if
     :: old_sleepers -> atomic { asleep[0] = 0 }
     :: else
     fi;
     if
     :: old_bells && slot_has_bell -> bell++; atomic { asleep[1] = 0 }
     :: else
     fi
  :: else
  fi
}

inline publish_one() {
#ifdef WAKE_FIRST
  saw = sleepers || bells;
#endif
  stamped = newest + 1;
  newest = stamped;
  wake_all()
}

proctype publisher(bool may_die) {
  bool saw, old_sleepers, old_bells;
  if
  :: stamped > newest -> newest = stamped   /* its predecessor's last message */
  :: else
  fi;
#ifdef NO_HANDOVER
  skip
#elif defined(HANDOVER_BY_FLAGS)
  saw = 1;
  wake_all()
#else
  atomic { counter++; asleep[0] = 0 }     /* whatever the flags: see above */
  atomic { bell++; asleep[1] = 0 }
#endif
  ;
  {
    do
    :: newest < MESSAGES -> publish_one()
    :: else -> break
    od
  } unless { may_die && dead_publisher; run publisher(0) }
}

/* Looks like Subscriber::wait(). */
proctype reader() {
  byte next = 1, value;
  bool flagged;
  {
    do
    :: next > MESSAGES -> break
    :: else ->
       if
       :: stamped >= next -> next++
       :: else ->
          atomic { value = counter; flagged = sleepers }
          if
          :: !flagged -> atomic { value = counter; sleepers = 1 }
          :: else
          fi;
#ifndef NO_RECHECK
          if
          :: newest >= next -> goto again
          :: else
          fi;
#endif
          atomic {                         /* futex_wait */
            if
#ifdef NO_COMPARE
            :: asleep[0] = 1
#else
            :: counter == value && sleepers -> asleep[0] = 1
            :: else
#endif
            fi
          }
          !asleep[0];
again:    skip
       fi
    od
  } unless { dead_reader[0] }
}

proctype poller() {
  byte next = 1, value;
  {
    do
    :: next > MESSAGES -> break
    :: else ->
       if
       :: stamped >= next -> next++
       :: else ->
#ifndef BELL_LATE
          value = bell;
#endif
          slot_has_bell = 1;
          if
          :: !bells -> atomic { bells = 1 }
          :: else
          fi;
#ifndef NO_RECHECK
          if
          :: newest >= next -> goto again
          :: else
          fi;
#endif
#ifdef BELL_LATE
          value = bell;
#endif
          atomic {
            if
#ifdef NO_COMPARE
            :: asleep[1] = 1
#else
            :: bell == value -> asleep[1] = 1
            :: else
#endif
            fi
          }
          !asleep[1];
again:    skip
       fi
    od
  } unless { dead_reader[1] }
}


/* Kills whom it likes, whenever it likes. */
active proctype killer() {
  if
  :: dead_reader[0] = 1
  :: dead_reader[1] = 1
  :: skip
  fi;
  if
  :: dead_publisher = 1
  :: skip
  fi
}

init {
  atomic { run publisher(1); run reader(); run poller() }
}
