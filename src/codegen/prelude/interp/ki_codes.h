/* ki_codes.h - bytecode of the device interpreter: what codegen/interp.c writes and the kernel text reads. Plain
 * #defines: host code includes it.
 *
 * The code is an array of u32 words in device memory. Places in it are word numbers; parameters are numbers of kernel
 * parameters, BC_NO is none. It begins with a head (BH_), then come instructions of BC_WORDS words and tables.
 *
 *   instruction   word 0: operation | phys << 8 | to << 16 | flags << 24
 *                 word 1: dst | a << 8 | b << 16 | c << 24   (registers; BC_NOREG none)
 *                 words 2 to 5: x, y, z, t by operation; 6, 7: a 64-bit value
 *                 t: where to go on when the row fails (filters, iterators), else (instruction number + 1) << 8, to
 * raise errors with
 *
 * A register is 128 bits and a validity bit: integers and codes sign-extended to 64 bits, bool 0 or 1, real and double
 * precision as the bits of a double, everything else as it lies in memory.
 */
#ifndef KI_CODES_H
#define KI_CODES_H

#define BC_REGS 64
#define BC_NOREG 255u
#define BC_NO 0xffffffffu
#define BC_WORDS 8u
#define BC_ROW_DONE 0xffffffffu /* a place: the row has nothing more to give */
#define BC_CODE_PARAM 1

/* Numbers of the host's enums (codegen/interp.c compares): Phys, SourceKind, SinkKind, ProbeKind, DevJoinForm,
 * DevAggForm, CellKind. */
#define KI_BOOL 0
#define KI_I16 1
#define KI_I32 2
#define KI_I64 3
#define KI_I128 4
#define KI_F32 5
#define KI_F64 6
#define KI_STR 7
#define KI_INTERVAL 8
#define KI_UUID 9
#define KI_SRC_TABLE 1
#define KI_SRC_AGG 3
#define KI_SRC_JOIN 4
#define KI_SINK_ROWS 0
#define KI_SINK_AGG 1
#define KI_SINK_JOIN 2
#define KI_SINK_SORT 3
#define KI_SINK_NONE 4
#define KI_INNER 0
#define KI_LEFT 1
#define KI_SINGLE 2
#define KI_SEMI 3
#define KI_ANTI 4
#define KI_MARK 5
#define KI_MARK_BUILD 6
#define KI_BITMAP 0
#define KI_DIRECT 1
#define KI_HASH 2
#define KI_AGG_ONE 0
#define KI_AGG_LOCAL 1
#define KI_AGG_DIRECT 2
#define KI_AGG_HASH 3
#define KI_ADD64 0
#define KI_ADDF 1
#define KI_MAX64 2
#define KI_OR32 3
#define KI_OR64 4
#define KI_WIDE2 5
#define KI_WIDE3 6
#define KI_FIRST 7
#define KI_CELL_SINGLE 8
#define KI_FORM_PLAIN 16
#define KI_FORM_STR 32
#define KI_FORM_OPEN_STR 33
#define KI_FORM_STRIDED 40

/* ---- head ---- */
#define BH_START 0       /* place of the first instruction */
#define BH_SOURCE 1      /* SourceKind */
#define BH_TILES 2       /* parameters: number of tiles, */
#define BH_LIST 3        /* tablets to scan, */
#define BH_TABLETS 4     /* descriptions of tablets, */
#define BH_FIRST 5       /* first row and */
#define BH_ROWS 6        /* number of rows of other sources, */
#define BH_LIMIT 7       /* rows after which the segment stops, */
#define BH_COUNT 8       /* and their counter */
#define BH_SOURCE_BASE 9 /* parameter: matched flags of a join, records of an aggregation */
#define BH_SOURCE_ARG 10 /* join: which matched flag is wanted; aggregation: bytes per record */
#define BH_SKIP_DEAD 11  /* aggregation: records that are not live are no rows */
#define BH_SINK 12       /* places of tables: the sink, */
#define BH_BUILD 13      /* the join to be finished, */
#define BH_SORT 14       /* the sort */
#define BH_WORDS 16

/* ---- operations ---- */
#define BC_SINK 1 /* t: next */
#define BC_MOVE 2
#define BC_CONST 3 /* x, y: parameters of both limbs */
#define BC_NULL 4
#define BC_TEXT 5 /* code a of the dictionary x offsets, y bytes */
#define BC_JUMP 6 /* x */
#define BC_IF 7   /* x: place when a is not true */
#define BC_FILTER 8
#define BC_LOAD_TABLE 9   /* x: column */
#define BC_LOAD_COLUMN 10 /* x: cells, y: validity; row a, or the source's */
#define BC_LOAD_ROWID 11
#define BC_LOAD_SERIES 12 /* x: start, y: step */
#define BC_LOAD_KEY                                                                                                \
    13 /* key of a group by its number: x radix, y extent (0: last key), z least value, flags 1: the last value is \
          NULL; 64-bit: extent */
#define BC_LOAD_RECORD 14 /* x: offset in the record, y: offset of the validity byte */
#define BC_LOAD_CELL 15   /* aggregate: see BL_ */
#define BC_RANGE 16       /* x: column, y: least, z: greatest; flags 1: negate */
#define BC_CODES 17       /* x: column, y: mask; flags 1: bits in the parameter, 2: NULL passes */
#define BC_ADD 20
#define BC_SUB 21
#define BC_MUL 22
#define BC_DIV 23
#define BC_MOD 24
#define BC_NEG 25
#define BC_ABS 26
#define BC_ADD_N 27
#define BC_SUB_N 28
#define BC_MUL_N 29
#define BC_MUL_WIDE 30
#define BC_RESCALE 31 /* x, y, z: scales and precision as in NUM_IMM, NUM_IMM3 */
#define BC_NUM_DIV 32
#define BC_NUM_MUL 33
#define BC_NUM_TO_F64 34
#define BC_F64_TO_NUM 35
#define BC_CHECK_DIGITS 36 /* x: digits, y: error */
#define BC_CVT 37
#define BC_EQ 40
#define BC_NE 41
#define BC_LT 42
#define BC_LE 43
#define BC_GT 44
#define BC_GE 45
#define BC_DISTINCT 46
#define BC_AND 47
#define BC_OR 48
#define BC_NOT 49
#define BC_IS_NULL 50
#define BC_IS_NOT_NULL 51
#define BC_IS_TRUE 52
#define BC_IS_FALSE 53
#define BC_SELECT 54
#define BC_COALESCE 55
#define BC_NULLIF 56
#define BC_IN_SET 57    /* x: cells, y: number; flags 1: the set has NULL */
#define BC_CODE_TEST 58 /* x: mask; flags 1: bits in the parameter, 2: no codes at all */
#define BC_CODE_MAP 59  /* x: cells, y: validity; flags 1: no codes at all */
#define BC_LIKE 60      /* x: pattern */
#define BC_DATE_PART 61 /* x: field */
#define BC_PACK_BEGIN 62
#define BC_PACK 63   /* dst += a: x shift, y bits, flags 1: NULL has a code, 2: range is checked; 64-bit: base */
#define BC_CALL 64   /* x: BF_ */
#define BC_REPEAT 70 /* a times; register b counts; the next instruction is BC_AGAIN */
#define BC_AGAIN 71
#define BC_PROBE 72 /* x: place of the probe's table; the next instruction is BC_PROBE_NEXT */
#define BC_PROBE_NEXT 73
#define BC_PROBE_END 74 /* a: does the candidate count (none: it does) */
#define BC_PROBE_RESULT 75
#define BC_EXISTS 76 /* without a residual condition; the result follows from it at once */
#define BC_BIT_AND 80
#define BC_BIT_OR 81
#define BC_BIT_XOR 82
#define BC_BIT_NOT 83
#define BC_SHL 84
#define BC_SHR 85

/* BC_CALL */
#define BF_FROM 0
#define BF_PART 1
#define BF_LEFT 2
#define BF_RIGHT 3
#define BF_CHARS 4
#define BF_BYTES 5
#define BF_STARTS 6

/* BC_LOAD_CELL: x offset, y place of validity (by BL_SEEN, BL_FLAG) in the record, z bit, phys: of the value before its
 * conversion, t: error. b: CellKind, c: flags of these */
#define BL_SEEN 1u /* bit z of the word at y */
#define BL_FLAG 2u /* the word at y is 1 */
#define BL_LIVE 4u /* the record is live */
#define BL_FLIP 8u
#define BL_FLOAT 16u
#define BL_BOOL 32u
#define BL_CHECKED 64u
#define BL_NARROW 128u

/* ---- a probe ---- */
#define BP_KIND 0 /* ProbeKind */
#define BP_FORM 1 /* DevJoinForm */
#define BP_N_KEYS 2
#define BP_KEYS 3  /* place of BK_ entries */
#define BP_FLAGS 4 /* BPF_ */
#define BP_HEAD 5  /* parameters */
#define BP_NEXT 6
#define BP_MASK 7
#define BP_JOIN_FLAGS 8
#define BP_MATCHED 9
#define BP_ROWS 10
#define BP_MIN 11
#define BP_DOM 12
#define BP_STATE 13  /* registers: of the iterator, */
#define BP_DST 14    /* of the row, */
#define BP_BODY 15   /* places: what a candidate runs, */
#define BP_FINISH 16 /* what comes after the last one, */
#define BP_FAIL 17   /* and where a row that fails goes on */
#define BP_AGAIN 18  /* place of BC_PROBE_NEXT */
#define BP_ERROR 19
#define BP_MARK 20 /* register of MARK's answer */
#define BP_WORDS 21
#define BPF_BODY 1u      /* a residual condition follows */
#define BPF_TRACK 2u     /* build rows are marked */
#define BPF_NULL_MARK 4u /* the join's flags are there */

/* Keys of joins: probes, sinks and join_build. */
#define BK_REG 0
#define BK_PHYS 1
#define BK_NULL_EQUAL 2
#define BK_DATA 3 /* parameters: stored cells and validity */
#define BK_VALID 4
#define BK_WORDS 5

/* ---- sinks ---- */
#define BS_KIND 0  /* SinkKind */
#define BS_COUNT 1 /* parameters */
#define BS_CAP 2
#define BS_BASE 3 /* row i of the source is row base + i, BC_NO: rows are appended */
#define BS_N_COLS 4
#define BS_COLS 5 /* place of BO_ entries */
#define BS_SEQ 6  /* cells of the sequence numbers */
#define BS_SEQ_BASE 7
#define BS_EXTRA 8 /* place of BJ_ or BA_ */
#define BS_WORDS 9
/* Stored columns */
#define BO_REG 0
#define BO_FROM 1 /* phys of the register, of the cells */
#define BO_TO 2
#define BO_DATA 3
#define BO_VALID 4
#define BO_WORDS 5
/* Joins */
#define BJ_FORM 0
#define BJ_N_KEYS 1
#define BJ_KEYS 2
#define BJ_FLAGS 3 /* parameters */
#define BJ_HEAD 4
#define BJ_NEXT 5
#define BJ_MASK 6
#define BJ_ROWS 7
#define BJ_MIN 8
#define BJ_DOM 9
#define BJ_TRACK 10
#define BJ_NULL_MARK 11
#define BJ_ERROR 12
#define BJ_MATCHED 13 /* parameter, BC_NO: not tracked */
#define BJ_WORDS 14
/* Aggregations */
#define BA_FORM 0    /* DevAggForm */
#define BA_RECORDS 1 /* parameters */
#define BA_SLOTS 2
#define BA_MASK 3
#define BA_COUNT 4
#define BA_CAP 5
#define BA_STRIDE 6
#define BA_N_KEYS 7
#define BA_KEYS 8 /* place of BG_ entries */
#define BA_N_CELLS 9
#define BA_CELLS 10 /* place of BX_ entries */
#define BA_ERROR 11 /* a key outside of its range */
#define BA_CARDINALITY 12
#define BA_WORDS 13
/* Group keys */
#define BG_REG 0
#define BG_PHYS 1 /* as stored */
#define BG_OFF 2
#define BG_VALID_OFF 3
#define BG_MIN 4    /* parameter */
#define BG_VALUES 5 /* number of values that are not NULL */
#define BG_EXTENT 6
#define BG_WORDS 7
/* Aggregates */
#define BX_REG 0   /* BC_NOREG: every row counts */
#define BX_KIND 1  /* CellKind */
#define BX_FLAGS 2 /* BL_FLIP, BL_FLOAT, BL_BOOL, BXF_ONE */
#define BX_OFF 3
#define BX_SEEN 4     /* bit, BC_NO: none */
#define BX_FLAG_OFF 5 /* FIRST, SINGLE: offset of u32 valid, u32 claimed; BC_NO none */
#define BX_PHYS 6     /* FIRST, SINGLE: of the cell */
#define BX_WORDS 7
#define BXF_ONE 256u /* adds 1 */

/* ---- sorts ---- */
#define BSO_N_KEYS 0
#define BSO_KEYS 1 /* place of BY_ entries */
#define BSO_SEQ 2  /* parameters */
#define BSO_N 3
#define BSO_A 4
#define BSO_B 5
#define BSO_WIDTH 6
#define BSO_FIRST 7
#define BSO_TAKE 8
#define BSO_N_COLS 9
#define BSO_COLS 10 /* place of BM_ entries */
#define BSO_WORDS 11
#define BY_PHYS 0
#define BY_DATA 1
#define BY_VALID 2
#define BY_OFFSETS 3 /* cells are codes of this dictionary and compared as strings */
#define BY_BYTES 4
#define BY_DESC 5
#define BY_NULLS_FIRST 6
#define BY_EXACT 7 /* equal prefixes are equal keys */
#define BY_WORDS 8
#define BM_PHYS 0 /* gathered columns */
#define BM_FROM 1
#define BM_FROM_VALID 2
#define BM_TO 3
#define BM_TO_VALID 4
#define BM_WORDS 5

#endif
