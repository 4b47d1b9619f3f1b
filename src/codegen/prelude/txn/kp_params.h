/* kp_params.h - parameters of kernels of procedures by name, for editors and lint alone: no part of any kernel.
 *
 * PP_NAME is parameter PP_NAME of codegen/emit_proc.h, which says what it is. In a kernel the emitter
 * (codegen/emit_run.c) defines those that the module has, each as P(i) of its own number, so they can be read
 * wherever `kp` is.
 */
#ifndef KP_PARAMS_H
#define KP_PARAMS_H

/* the launch */
#define PP_CALLS P(1)
#define PP_ORDER P(2)
#define PP_LAUNCH P(3)
#define PP_TICKET P(4)
#define PP_POS P(6)
#define PP_TYPES P(7)
#define PP_KINDS P(8)
#define PP_BLOCKED P(9)
#define PP_FAILED P(10)
#define PP_UNDO_AREA P(11)
#define PP_LANES P(12)
#define PP_LOCKED P(13)
#define PP_FETCHES P(14)
/* locks */
#define PP_COUNTERS P(20)
#define PP_LOCK_START P(21)
#define PP_LOCK_STEP P(22)
#define PP_LOCKS P(23)
#define PP_DONE P(24)
/* partitions */
#define PP_PART_AT P(30)
#define PP_PART_START P(31)
#define PP_PART_EACH P(32)
/* statement locks */
#define PP_STATEMENT_LOCKS P(40)
#define PP_USED P(41)
#define PP_LOG P(42)
#define PP_LOG_AT P(43)
#define PP_LOG_N P(44)
#define PP_STRETCHES P(45)
#define PP_TOGETHER P(46)
/* queues */
#define PP_DEQUEUE_COUNTS P(50)
#define PP_QUEUE_ROWS P(51)
/* footprints */
#define PP_OPS P(60)
#define PP_USES P(61)
#define PP_OPS_MAX P(62)
#define PP_FOOT_WORDS P(63)
#define PP_FOOT_FAILED P(64)

#endif
