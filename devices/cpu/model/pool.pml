/* SPDX-License-Identifier: MIT
 *
 * ThreadPool::run and work, Milestone::advance and wait: a caller (thread 0) runs JOBS lists of STEPS
 * steps and then stops its workers, who may be late by any number of steps and lists. Each shared
 * access is a step of its own; a chunk is an index, and running it has a beginning and an end.
 *
 * Claims: each index of each step is run once; none begins before all of the step before have ended;
 * run() returns when all have ended and nobody reads the job, which is rewritten while nobody does;
 * all threads come to their end, so that no wake-up is lost. With HELD, workers may stand still for
 * ever where they have not come to the job yet or are between two steps: the caller comes to the end
 * of the list all the same, and to the end of everything where they had not come yet.
 *
 * Faults to take out a part of the protocol, each of which must be found:
 *   NO_ODD           progress does not say that a thread may be running a chunk
 *   ODD_LATE         it says so after the first chunk is taken
 *   NO_RUNNING_WAIT  a step does not wait for those who still run chunks of the one before
 *   NO_CALLER_WAIT   nor, by a thread that had no share of it, for the caller's progress
 *   OWN_SHARE_ONLY   a thread does not see to it that all shares are used up
 *   NO_STEP_IN_CLAIM a share is claimed without looking at whose step it is
 *   CLAIM_BY_STORE   a claim is a load and a store
 *   NO_CALL_RECHECK  a worker does not look at the call again once it is present
 *   PRESENT_LATE     it looks before it is present
 *   NO_CLOSE         the call is not closed before the caller looks who is present
 *   CLOSE_LATE       it is closed after that
 *   NO_PRESENCE_WAIT the caller does not wait for those who are present
 *   WAIT_FOR_ALL     (with HELD) a step waits for all threads that have a share of the one before
 *   NO_COMPARE       sleeping does not compare the number
 *   NOT_COUNTED      who sleeps does not count himself
 *   WAKE_FIRST       who advances a number looks for sleepers first
 *   WAKE_ONE         (with three threads) and wakes one of them only
 *
 * Memory is sequentially consistent here. Where the claims need that, a store and then a load of
 * another number, the code uses seq_cst for all four: presence and call_ (PRESENT_LATE and CLOSE_LATE
 * are what a processor would make of less), a milestone's value and its sleepers (WAKE_FIRST).
 * Progress and `taken` need no more than release and acquire: claims are exchanges of one number, each
 * after its thread's odd progress, so that who sees a share used up, or the caller's progress after
 * that, sees all of these. What a chunk wrote is seen through the progress or the presence that
 * follows it, job_ through call_: ThreadSanitizer watches these in tests/devices/cpu.
 */
#ifndef THREADS
#define THREADS 2
#endif
#ifndef JOBS
#define JOBS 2
#endif
#ifndef STEPS
#define STEPS 2
#endif
#define ALL_STEPS (JOBS * STEPS)
#define STOP JOBS

/* Steps: how many shares, of how many indices; a share has 0, 1 or 2, each a chunk. */
local byte width[ALL_STEPS], extent[ALL_STEPS];
#define share_begin(n, s) (extent[n] * (s) / width[n])
#define chunks_of(n, s) (share_begin(n, (s) + 1) - share_begin(n, s))
#define all_of(n) ((1 << extent[n]) - 1)

byte job;                                  /* job_: its number */
byte taken[THREADS];                       /* 4 * (step's number + 1) + chunks */

/* Milestones. */
#define PROGRESS(t) (t)
#define PRESENCE(t) (THREADS + (t))
#define CALL (2 * THREADS)                 /* 4 * jobs_ + joined */
byte value[2 * THREADS + 1], sleepers[2 * THREADS + 1];
byte asleep_at[THREADS];                   /* a milestone's number + 1: in the kernel's queue */

/* What the claims are about. */
byte begun[ALL_STEPS], ended[ALL_STEPS];   /* sets of indices */
bool reads[THREADS];                       /* a worker reads the job */

inline wake(which) {
  d_step {
    t = 0;
    do
    :: t < THREADS ->
       if
       :: asleep_at[t] == which + 1 ->
          asleep_at[t] = 0;
#ifdef WAKE_ONE
          break
#endif
       :: else
       fi;
       t++
    :: else -> break
    od;
    t = 0
  }
}

inline advance(which, to) {
#ifdef WAKE_FIRST
  some_sleep = sleepers[which] != 0;
  value[which] = to;
#else
  value[which] = to;
  some_sleep = sleepers[which] != 0;
#endif
  if
  :: some_sleep -> wake(which)
  :: else
  fi;
  some_sleep = 0
}

/* Leaves what it found in `seen`. One look stands for any number of them. */
inline await(which, target) {
  if
  :: atomic { value[which] >= target -> seen = value[which] }
  :: else ->
#ifndef NOT_COUNTED
     sleepers[which]++;
#endif
     do
     :: atomic { value[which] >= target -> seen = value[which]; break }
     :: atomic { value[which] < target -> seen = value[which] }
        atomic {                           /* futex_wait */
          if
#ifdef NO_COMPARE
          :: asleep_at[me] = which + 1
#else
          :: value[which] == seen -> asleep_at[me] = which + 1
          :: else
#endif
          fi
        }
        asleep_at[me] == 0
     od;
#ifndef NOT_COUNTED
     sleepers[which]--
#endif
  fi
}

inline say_odd() {
#ifndef NO_ODD
  advance(PROGRESS(me), 2 * number + 1)
#else
  skip
#endif
}

/* Its chunk of `share` runs from the claim on. */
inline begin_chunk() {
  index = share_begin(number, share) + next % 4;
  assert(!(begun[number] & 1 << index));
  assert(number == 0 || ended[number - 1] == all_of(number - 1));
  assert(job == number / STEPS);
  begun[number] = begun[number] | 1 << index
}

inline end_chunk() {
  ended[number] = ended[number] | 1 << index
}

#define first_of(n) (4 * ((n) + 1))
inline look_at_share() {
  d_step {
    before = taken[share];
    next = (before > first_of(number) -> before : first_of(number));
#ifdef NO_STEP_IN_CLAIM
    used_up = next % 4 >= chunks_of(number, share)
#else
    used_up = next >= first_of(number) + chunks_of(number, share)
#endif
  }
}

inline run_share() {
  look_at_share();
  do
  :: used_up -> break
  :: else ->
     d_step {
       if
#ifdef CLAIM_BY_STORE
       :: taken[share] = next + 1; claimed = 1; begin_chunk()
#else
       :: taken[share] == before -> taken[share] = next + 1; claimed = 1; begin_chunk()
       :: else
#endif
       fi
     }
     if
     :: claimed ->
#ifdef ODD_LATE
        say_odd();
#endif
        d_step { claimed = 0; end_chunk(); index = 0 }
     :: else
     fi;
     look_at_share()
  od;
  atomic { used_up = 0; before = 0; next = 0 }
}

inline run_shares() {
#ifndef ODD_LATE
  say_odd();
#endif
  if
  :: width[number] == 1 -> d_step { share = 0; next = 0; begin_chunk() } end_chunk()
  :: else ->
     i = 0;
     do
     :: i < width[number] ->
        share = (me + i) % width[number];
        run_share();
#ifdef OWN_SHARE_ONLY
        break;
#endif
        i++
     :: else -> break
     od
  fi;
  atomic { i = 0; share = 0; index = 0 }
  advance(PROGRESS(me), 2 * number + 2)
}

#ifdef HELD
#define may_be_held() if :: skip :: me > 0 -> goto gone fi
#else
#define may_be_held() skip
#endif

/* For the step before `number`. */
inline wait_for_step_before() {
#ifndef NO_CALLER_WAIT
  if
  :: me >= width[number - 1] -> await(PROGRESS(0), 2 * number)
  :: else
  fi;
#endif
#ifndef NO_RUNNING_WAIT
  i = 0;
  do
  :: i < width[number - 1] ->
#ifdef WAIT_FOR_ALL
     await(PROGRESS(i), 2 * number);
#else
     seen = value[PROGRESS(i)];
     if
     :: seen == 2 * number - 1 -> await(PROGRESS(i), 2 * number)
     :: else
     fi;
#endif
     i++
  :: else -> break
  od;
#endif
  atomic { i = 0; seen = 0 }
}

inline run_steps(base) {
  number = base;
  do
  :: number < base + STEPS ->
     if
     :: me < width[number] ->
        if
        :: number > base -> wait_for_step_before()
        :: else
        fi;
        run_shares()
     :: else
     fi;
     may_be_held();
     number++
  :: else -> break
  od
}

inline publish(what, joined) {
  d_step {
    t = 0;
    do
    :: t < THREADS -> assert(!reads[t]); t++
    :: else -> break
    od;
    t = 0;
    job = what
  }
  calls++;
  advance(CALL, 4 * calls + joined)
}

proctype worker(byte me) {
  byte call, number, share, before, next, index, i, seen, t;
  bool some_sleep, used_up, claimed, is_on, is_stop;
  do
  :: await(CALL, call + 1);
     call = seen; seen = 0;
     if
     :: me >= call % 4 -> skip
     :: else ->
        may_be_held();
#ifdef PRESENT_LATE
        is_on = value[CALL] == call;
        advance(PRESENCE(me), value[PRESENCE(me)] + 1);
        reads[me] = is_on;
#else
        advance(PRESENCE(me), value[PRESENCE(me)] + 1);
#ifdef NO_CALL_RECHECK
        d_step { is_on = 1; reads[me] = 1 }
#else
        d_step { is_on = value[CALL] == call; reads[me] = is_on }
#endif
#endif
        if
        :: is_on ->
           is_stop = job == STOP;
           if
           :: is_stop
           :: else -> run_steps(job * STEPS)
           fi
        :: else
        fi;
        reads[me] = 0;
        advance(PRESENCE(me), value[PRESENCE(me)] + 1);
        if
        :: is_stop -> break
        :: else
        fi
     fi
  od;
gone: skip
}

inline add(w, e) {
  width[t] = w; extent[t] = e; t++
}

/* Any of these lists, one after another. */
inline choose_steps() {
  do
  :: t == ALL_STEPS -> break
#if THREADS == 2
  :: t < ALL_STEPS -> add(2, 4); add(2, 2)
  :: t < ALL_STEPS -> add(1, 1); add(2, 3)
  :: t < ALL_STEPS -> add(2, 1); add(1, 1)
#elif defined(WIDE)                        /* minutes and gigabytes */
  :: t < ALL_STEPS -> add(2, 2); add(3, 3)
  :: t < ALL_STEPS -> add(3, 4); add(1, 1)
  :: t < ALL_STEPS -> add(1, 1); add(2, 3)
#else
  :: t == 0 -> add(2, 2); add(3, 3)
  :: t == 2 && t < ALL_STEPS -> add(3, 2); add(1, 1)
#endif
  od
}

/* Ends the call, and waits for those who are still on their way. */
inline close_and_part() {
#if !defined(NO_CLOSE) && !defined(CLOSE_LATE)
  calls++;
  advance(CALL, 4 * calls);
#endif
#ifndef NO_PRESENCE_WAIT
  i = 1;
  do
  :: i < joined ->
#ifdef HELD
end_held:
     value[PRESENCE(i)] % 2 == 0;
#else
     present = value[PRESENCE(i)];
     if
     :: present % 2 == 1 -> await(PRESENCE(i), present + 1)
     :: else
     fi;
#endif
     i++
  :: else -> break
  od;
  i = 0; seen = 0; present = 0;
#endif
#ifdef CLOSE_LATE
  calls++;
  advance(CALL, 4 * calls);
#endif
  skip
}

active proctype caller() {
  byte me, calls, joined, current, number, share, before, next, index, i, seen, present, t;
  bool some_sleep, used_up, claimed;
  atomic {
    choose_steps();
    assert(t == ALL_STEPS);
    t = 0
  }
  atomic {
    t = 1;
    do
    :: t < THREADS -> run worker(t); t++
    :: else -> break
    od;
    t = 0
  }
  do
  :: current < JOBS ->
     d_step {
       joined = 0; number = current * STEPS;
       do
       :: number < (current + 1) * STEPS ->
          joined = (width[number] > joined -> width[number] : joined);
          number++
       :: else -> break
       od;
       number = 0
     }
     publish(current, joined);
     run_steps(current * STEPS);
     close_and_part();
     d_step {
       number = current * STEPS;
       do
       :: number < (current + 1) * STEPS ->
          assert(ended[number] == all_of(number));
          number++
       :: else -> break
       od;
       number = 0; t = 0;
       do
       :: t < THREADS -> assert(!reads[t]); t++
       :: else -> break
       od;
       t = 0
     }
     current++
  :: else -> break
  od;
  publish(STOP, THREADS);
gone: skip
}
